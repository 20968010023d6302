"""Procedural cars, meshes from files, their rendering, and the cache of rendered images."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import trimesh
import trimesh.visual
from PIL import Image as PillowImage
from samples.mesh_files import bad_files

from npi.cars import views as views_module
from npi.cars.body_plans import BODY_TYPES
from npi.cars.camera import FRAMED_RADIUS, Camera
from npi.cars.car import Car
from npi.cars.mesh import AXES, Mesh, axes_matrix
from npi.cars.mesh_files import load_mesh
from npi.cars.poses import AZIMUTHS, ELEVATIONS, POSES, Pose, camera_path, steps_between
from npi.cars.procedural import body_type, make_car
from npi.cars.render import Renderer
from npi.cars.render_settings import STUDIO
from npi.cars.views import cache_file, cache_size, clear_cache, images_of, render_all, views
from npi.errors import BadInput
from npi.language.image import Image


def coloured_cubes(*points, size=0.03):
    """A mesh of small cubes at these points, each in a different colour."""
    vertices, faces, colours = [], [], []
    for index, point in enumerate(points):
        cube = trimesh.creation.box(extents=(size,) * 3)
        faces.append(np.array(cube.faces) + sum(map(len, vertices)))
        vertices.append(np.array(cube.vertices) + point)
        colours.append(np.tile(np.eye(3)[index], (len(cube.faces), 1)))
    faces = np.concatenate(faces)
    return Mesh(np.concatenate(vertices), faces, np.concatenate(colours), np.zeros(len(faces)))


def position_of(pixels, channel):
    """The mean column and row of the pixels of one pure colour."""
    colours = pixels[..., :3].astype(int)
    others = [c for c in range(3) if c != channel]
    found = (colours[..., channel] > 60) & (colours[..., others].max(-1) < 25)
    rows, columns = np.nonzero(found)
    assert len(rows), "the cube is not in the image"
    return columns.mean() + 0.5, rows.mean() + 0.5


@pytest.mark.parametrize(("azimuth", "elevation"), [(0, 0), (0, 15), (-75, 30), (60, 60), (45, 0)])
def test_points_appear_where_an_independent_projection_puts_them(azimuth, elevation):
    points = np.array([[0.6, 0.0, 0.5], [0.0, 0.6, 0.8], [-0.2, -0.5, 0.2]])
    mesh = coloured_cubes(*points)
    middle = (mesh.vertices.min(0) + mesh.vertices.max(0)) / 2
    # The oracle: turn the world so that the camera looks along -x from +x, and divide by depth.
    a, e = np.radians(azimuth), np.radians(elevation)
    turn = np.array([[np.cos(a), np.sin(a), 0], [-np.sin(a), np.cos(a), 0], [0, 0, 1]])
    tilt = np.array([[np.cos(e), 0, np.sin(e)], [0, 1, 0], [-np.sin(e), 0, np.cos(e)]])
    distance = FRAMED_RADIUS / np.sin(np.radians(STUDIO.field_of_view / 2)) / STUDIO.zoom
    pixels = Renderer(mesh).view(azimuth, elevation, size=256)
    for index, point in enumerate(points):
        x, y, z = tilt @ turn @ (point - middle)
        scale = 128 / np.tan(np.radians(STUDIO.field_of_view / 2)) / (distance - x)
        expected = 128 + y * scale, 128 - z * scale
        assert Camera.of(azimuth, elevation, middle).project(point, 256) == pytest.approx(expected)
        assert position_of(pixels, index) == pytest.approx(expected, abs=2.5)


def test_left_is_left_and_up_is_up():
    """From in front, the car's left is at the viewer's right; a camera further to the right sees more of it."""
    renderer = Renderer(coloured_cubes((0, 0.5, 0.5), (0, -0.5, 0.5), (0, 0, 0.9)))
    front = renderer.view(0, 0)
    assert position_of(front, 0)[0] > 64 > position_of(front, 1)[0]
    assert position_of(front, 2)[1] < position_of(front, 0)[1]
    # The nose moves to the left of the image as the camera moves to the right.
    nose = Renderer(coloured_cubes((0.7, 0, 0.3), (-0.7, 0.1, 0.3), (-0.7, -0.1, 0.3)))
    assert position_of(nose.view(30, 0), 0)[0] < 64 < position_of(nose.view(-30, 0), 0)[0]


def test_the_same_image_on_every_run():
    first, again = (Renderer(make_car(3)).view(30, 15) for _ in range(2))
    assert np.array_equal(first, again)
    assert Image(first) == Image(again)
    assert hash(Image(first)) == hash(Image(again))
    assert Image(first) != Image(Renderer(make_car(3)).view(45, 15))


def test_alpha_marks_the_car():
    pixels = Renderer(make_car(0)).view(0, 15)
    assert pixels[64, 64, 3] == 255
    assert pixels[0, 0, 3] == 0
    assert 0.05 < (pixels[..., 3] > 0).mean() < 0.7


@pytest.mark.parametrize("number", range(3 * len(BODY_TYPES)))
def test_cars_stand_on_the_ground_in_the_middle_and_fit(number):
    mesh = make_car(number)
    low, high = mesh.vertices.min(0), mesh.vertices.max(0)
    assert low[2] == pytest.approx(0)
    assert (low + high)[:2] == pytest.approx([0, 0], abs=1e-9)
    assert np.linalg.norm(high - low) / 2 == pytest.approx(1)
    assert np.isfinite(mesh.vertices).all()
    assert mesh.faces.max() < len(mesh.vertices)
    assert ((mesh.colours >= 0) & (mesh.colours <= 1)).all()
    assert body_type(number) in BODY_TYPES


def test_a_number_determines_a_car():
    assert np.array_equal(make_car(5).vertices, make_car(5).vertices)
    assert make_car(5).vertices.shape != make_car(5 + len(BODY_TYPES)).vertices.shape or not np.array_equal(
        make_car(5).vertices, make_car(5 + len(BODY_TYPES)).vertices
    )


@pytest.mark.parametrize("number", range(len(BODY_TYPES)))
def test_front_and_rear_differ(number):
    renderer = Renderer(make_car(number))
    front, back = (renderer.view(azimuth, 15).astype(int) for azimuth in (0, 180))
    assert np.abs(front - back[:, ::-1]).mean() > 1


# Meshes from files


@pytest.fixture
def box():
    return trimesh.creation.box(extents=(1, 2, 4))  # glTF: wide 1, high 2, long 4


@pytest.mark.parametrize("ending", ["glb", "obj", "ply", "stl"])
def test_formats(box, tmp_path, ending):
    path = tmp_path / f"box.{ending}"
    box.export(path)
    size = np.ptp(load_mesh(path).vertices, axis=0)
    assert size / size[0] == pytest.approx([1, 0.25, 0.5])  # long, wide, high


def test_axes_are_options(box, tmp_path):
    path = tmp_path / "box.ply"
    box.export(path)
    size = np.ptp(load_mesh(path, forward="-X", up="+Z").vertices, axis=0)
    assert size / size[0] == pytest.approx([1, 2, 4])
    for forward in AXES:
        for up in AXES:
            if AXES[forward] != AXES[up]:
                assert np.linalg.det(axes_matrix(forward, up)) == pytest.approx(1)  # turned, never mirrored


def test_textures_are_mapped(tmp_path):
    mesh = trimesh.creation.box(extents=(1, 1, 1))
    mesh = trimesh.Trimesh(mesh.vertices[mesh.faces].reshape(-1, 3), np.arange(36).reshape(-1, 3), process=False)
    pixels = np.zeros((4, 4, 3), np.uint8)
    pixels[:, :2], pixels[:, 2:] = (255, 0, 0), (0, 0, 255)
    uv = np.tile([[0.1, 0.1], [0.4, 0.1], [0.1, 0.4]], (12, 1))
    material = trimesh.visual.material.PBRMaterial(baseColorTexture=PillowImage.fromarray(pixels))
    mesh.visual = trimesh.visual.TextureVisuals(uv=uv, material=material)
    mesh.export(tmp_path / "red.glb")
    loaded = load_mesh(tmp_path / "red.glb")
    middle = np.full((12, 3), 1 / 3)
    assert loaded.colour_at(np.arange(12), middle) == pytest.approx(np.tile([1.0, 0, 0], (12, 1)), abs=0.01)
    other = replace(loaded, uv=loaded.uv + np.array([0.5, 0]))
    assert other.colour_at(np.arange(12), middle) == pytest.approx(np.tile([0, 0, 1.0], (12, 1)), abs=0.01)


def write_obj(folder, texture):
    (folder / "paint.mtl").write_text(f"newmtl paint\nmap_Kd {texture}\n")
    text = "mtllib paint.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 1\nvt 0 0\nvt 1 0\nvt 0 1\nusemtl paint\nf 1/1 2/2 3/3\n"
    (folder / "car.obj").write_text(text)
    return folder / "car.obj"


def test_a_texture_beside_the_mesh_is_read(tmp_path):
    PillowImage.new("RGB", (2, 2), (0, 255, 0)).save(tmp_path / "paint.png")
    mesh = load_mesh(write_obj(tmp_path, "paint.png"))
    assert mesh.colour_at(np.array([0]), np.full((1, 3), 1 / 3))[0] == pytest.approx([0, 1, 0], abs=0.01)


@pytest.mark.parametrize(
    ("texture", "message"),
    [("gone.png", "gone.png, which does not exist"), ("../secret.png", "outside its own folder")],
)
def test_textures_that_are_missing_or_outside_are_refused(tmp_path, texture, message):
    folder = tmp_path / "mesh"
    folder.mkdir()
    PillowImage.new("RGB", (2, 2)).save(tmp_path / "secret.png")
    with pytest.raises(BadInput, match=message):
        load_mesh(write_obj(folder, texture))


def test_bad_files_are_named(tmp_path):
    for name, message in bad_files(tmp_path):
        with pytest.raises(BadInput, match=message):
            load_mesh(tmp_path / name)
    with pytest.raises(BadInput, match="two different axes"):
        load_mesh(tmp_path / "text.glb", forward="+Z", up="-Z")


def test_too_many_triangles(box, tmp_path, monkeypatch):
    monkeypatch.setattr("npi.cars.mesh_files.MAX_TRIANGLES", 11)
    box.export(tmp_path / "box.stl")
    with pytest.raises(BadInput, match="12 triangles, more than 11"):
        load_mesh(tmp_path / "box.stl")


# The cache


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A separate cache, and a grid of only two poses to save time."""
    monkeypatch.setenv("NPI_CACHE", str(tmp_path))
    monkeypatch.setattr(views_module, "AZIMUTHS", (0, 15))
    monkeypatch.setattr(views_module, "ELEVATIONS", (15,))
    return tmp_path / "views"


def test_views_are_rendered_once(small, monkeypatch):
    first = views(Car(1))
    assert first.shape == (2, 1, 128, 128, 4)
    assert cache_size()[0] == 1
    monkeypatch.setattr(views_module, "Renderer", None)  # rendering would raise a TypeError
    assert np.array_equal(views(Car(1)), first)
    with pytest.raises(TypeError):
        views(Car(2))
    with pytest.raises(TypeError):
        views(Car(1, training=True))
    clear_cache()
    assert cache_size() == (0, 0)


def test_a_damaged_file_is_rendered_again(small):
    first = views(Car(1))
    [file] = small.glob("*.npz")
    whole = file.read_bytes()
    flipped = [
        bytes([*whole[:at], whole[at] ^ 0xFF, *whole[at + 1 :]]) for at in range(0, len(whole), len(whole) // 12)
    ]
    for damaged in (b"", whole[:1000], whole[:-100], *flipped):
        file.write_bytes(damaged)
        assert np.array_equal(views(Car(1)), first)
        assert file.read_bytes() == whole or np.array_equal(views(Car(1)), first)


def test_a_mesh_is_rendered_again_when_its_texture_changes(tmp_path):
    PillowImage.new("RGB", (2, 2), (255, 0, 0)).save(tmp_path / "paint.png")
    path = write_obj(tmp_path, "paint.png")
    red = cache_file(Car(file=str(path)))
    assert cache_file(Car(file=str(path))) == red
    PillowImage.new("RGB", (2, 2), (0, 0, 255)).save(tmp_path / "paint.png")
    assert cache_file(Car(file=str(path))) != red


def test_an_interrupted_run_leaves_nothing_that_is_read(small):
    small.mkdir()
    (small / "half.part").write_bytes(b"half")
    assert cache_size() == (0, 0)
    assert list(render_all([Car(1), Car(2)], workers=1)) == [0, 1, 2]
    assert list(render_all([Car(1), Car(2), Car(3)], workers=1)) == [2, 3]


def test_a_cache_that_cannot_be_written_gives_a_warning(tmp_path, monkeypatch, small, capsys):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("NPI_CACHE", str(tmp_path / "file"))
    assert views(Car(1)).shape == (2, 1, 128, 128, 4)
    assert "could not be cached" in capsys.readouterr().err


def test_render_settings_of_training_differ_from_car_to_car():
    assert Car(1).render_settings() == Car(2).render_settings() == STUDIO
    assert Car(1, training=True).render_settings() not in (Car(2, training=True).render_settings(), STUDIO)


# Poses


def test_the_grid_is_the_papers():
    assert len(AZIMUTHS) * len(ELEVATIONS) == len(POSES) == 55
    assert POSES[0] == (-75, 0)
    assert POSES[-1] == (75, 60)


def test_a_camera_path_moves_one_step_at_a_time_and_along_the_azimuth_first():
    assert list(camera_path(Pose(30, 0), Pose(0, 15))) == [(30, 0), (15, 0), (0, 0), (0, 15)]
    for start in POSES:
        for target in POSES[::7]:
            path = list(camera_path(start, target))
            assert (path[0], path[-1], len(path)) == (start, target, steps_between(start, target) + 1)
            assert all(steps_between(one, next_one) == 1 for one, next_one in pairwise(path))


def test_images_carry_their_pose_as_labels(small):
    images = images_of(Car(7))
    assert [[image.labels for image in row] for row in images] == [[(0, 0)], [(1, 0)]]
    assert np.array_equal(images[1][0].pixels, views(Car(7))[1, 0])

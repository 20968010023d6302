"""Files that are not usable meshes, each with the error message it gives."""

import struct


def bad_files(folder):
    (folder / "text.glb").write_text("this is no mesh")
    (folder / "car.txt").write_text("neither is this")
    (folder / "empty.obj").write_text("v 0 0 0\n")
    (folder / "nan.obj").write_text("v 0 0 0\nv nan 0 0\nv 0 1 0\nf 1 2 3\n")
    (folder / "point.obj").write_text("v 1 1 1\nv 1 1 1\nv 1 1 1\nf 1 2 3\n")
    ply = "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
    ply += "element face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 1\n3 0 1 "
    (folder / "beyond.ply").write_text(ply + "99\n")
    (folder / "below.ply").write_text(ply + "-1\n")
    with open(folder / "huge.stl", "wb") as file:  # ten million triangles, none of them on the disk
        file.write(b"\0" * 80 + struct.pack("<I", 10_000_000))
        file.truncate(84 + 50 * 10_000_000)
    return [
        ("gone.glb", "there is no file"),
        ("text.glb", "is not a mesh that can be read"),
        ("car.txt", "not in a known mesh format"),
        ("empty.obj", "no triangles|not a mesh that can be read"),
        ("nan.obj", "not finite"),
        ("point.obj", "lie in one point"),
        ("beyond.ply", "a triangle with vertex 99, but 3 vertices"),
        ("below.ply", "a triangle with vertex -1"),
        ("huge.stl", "MiB, more than"),
    ]

"""Cars: procedural meshes, meshes from files, camera poses, and rendering. Nothing here knows of tasks or networks."""

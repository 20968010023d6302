"""Cars: made-up meshes, meshes from files, and their rendering. Nothing here knows of tasks or networks."""

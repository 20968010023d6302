"""Cars: procedural meshes, meshes from files, camera poses, and rendering. It imports neither tasks nor networks."""

"""Reads what C++ wrote into FOLDER, compares both formats, and writes the same tensors for C++ to read."""
import pathlib
import sys

import numpy
import safetensors
import safetensors.numpy

folder = pathlib.Path(sys.argv[1])
tensors = safetensors.numpy.load_file(folder / "cpp.safetensors")
with safetensors.safe_open(folder / "cpp.safetensors", framework="numpy") as file:
    assert file.metadata() == {"k": "v"}, file.metadata()
assert sorted(tensors) == ["b", "e", "f", "h", "i", "s"], sorted(tensors)
for name, tensor in tensors.items():
    from_npy = numpy.load(folder / f"cpp_{name}.npy")
    assert from_npy.dtype == tensor.dtype and from_npy.shape == tensor.shape, (name, from_npy, tensor)
    assert (from_npy == tensor).all(), name
    numpy.save(folder / f"python_{name}.npy", tensor)
    numpy.save(folder / f"fortran_{name}.npy", numpy.asfortranarray(tensor) if tensor.ndim else tensor)
safetensors.numpy.save_file(tensors, folder / "python.safetensors")

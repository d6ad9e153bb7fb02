"""Writes the .npy files of npy_test beside itself: NumPy is the oracle of our reader.

The values of each array are 0, 1, 2, ... in row-major order, converted to its type.
"""

import pathlib

import numpy as np

FOLDER = pathlib.Path(__file__).parent


def values(dtype, shape):
    return np.arange(int(np.prod(shape))).astype(dtype).reshape(shape)


def main():
    np.save(FOLDER / "f32_2x3.npy", values("<f4", (2, 3)))
    np.save(FOLDER / "f16_4.npy", values("<f2", (4,)))
    np.save(FOLDER / "i64_scalar.npy", np.array(7, dtype="<i8"))
    np.save(FOLDER / "u8_5.npy", values("u1", (5,)))
    np.save(FOLDER / "bool_2x2.npy", values("?", (2, 2)))
    np.save(FOLDER / "f32_0x3.npy", values("<f4", (0, 3)))
    np.save(FOLDER / "fortran_2x3.npy", np.asfortranarray(values("<f4", (2, 3))))
    np.save(FOLDER / "big_endian_3.npy", values(">f4", (3,)))
    np.save(FOLDER / "structured_2.npy", np.zeros(2, dtype=[("a", "<f4"), ("b", "<i4")]))
    np.save(FOLDER / "complex_2.npy", values("<c8", (2,)))
    for version in ((2, 0), (3, 0)):
        with open(FOLDER / f"version{version[0]}_i32_2x2.npy", "wb") as file:
            np.lib.format.write_array(file, values("<i4", (2, 2)), version=version)


if __name__ == "__main__":
    main()

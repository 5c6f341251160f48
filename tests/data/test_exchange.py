"""A file of moments is validated when it is read: any invalid file raises one ValueError, in one sentence."""

from __future__ import annotations

import contextlib
import io
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path as FilePath
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.lib import format as npy

from dropstep import Moments, select

_rng = np.random.default_rng(11)
X = _rng.normal(size=(60, 4)) + np.array([0.0, 1.0, 10.0, -5.0])
Y = X[:, 1] + _rng.normal(size=60)
NAMES = np.array(["ä", "b c", "日本", ""])
LABELS = np.array(["ash", "yew", "ölbaum"])


def arrays(classes: bool = False) -> dict[str, Any]:
    moments = Moments.of(X, LABELS[np.arange(60) % 3] if classes else Y)
    found = {"counts": moments.counts, "means": moments.means, "scatter": moments.scatter}
    found |= {"n_targets": np.array(moments.n_targets), "feature_names": NAMES}
    return found | {"labels": moments.labels} if classes else found


def refused(file: FilePath) -> str:
    with pytest.raises(ValueError, match="does not contain valid moments") as caught:
        Moments.load(file)
    sentence = str(caught.value)
    assert type(caught.value) is ValueError
    assert sentence.startswith(repr(str(file)))
    assert "write it again with Moments.save" in sentence
    assert "\n" not in sentence
    return sentence


def changed(name: str, at: Any, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(found: dict[str, Any]) -> None:
        found[name] = found[name].copy()
        found[name][at] = value

    return change


def replaced(name: str, make: Callable[[Any], Any]) -> Callable[[dict[str, Any]], None]:
    def change(found: dict[str, Any]) -> None:
        found[name] = make(found.get(name))

    return change


NUMBERS: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "NaN in scatter": (changed("scatter", (1, 2), np.nan), "scatter[1, 2] is nan"),
    "infinity in scatter": (changed("scatter", (0, 3), np.inf), "scatter[0, 3] is inf"),
    "NaN on the diagonal": (changed("scatter", (2, 2), np.nan), "scatter[2, 2] is nan"),
    "infinity on the diagonal": (changed("scatter", (2, 2), np.inf), "column 2, with scatter inf"),
    "negative diagonal": (changed("scatter", (1, 1), -1.0), "scatter[1, 1] is -1"),
    "asymmetric": (changed("scatter", (0, 1), 0.125), "scatter[0, 1] is 0.125, but scatter[1, 0] is"),
    "correlation beyond 1": (changed("scatter", ([0, 1], [1, 0]), 1e5), "scatter[0, 1] is 100000, but must not exceed"),
    "rectangular": (replaced("scatter", lambda S: S[:4]), "scatter has the shape (4, 5)"),
    "a vector": (replaced("scatter", np.ravel), "scatter has the shape (25,)"),
    "fewer columns": (replaced("scatter", lambda S: S[:4, :4].copy()), "means has the shape (1, 5) instead of (1, 4)"),
    "float32": (replaced("scatter", lambda S: S.astype(np.float32)), "scatter has the type float32"),
    "integers": (replaced("counts", lambda c: c.astype(int)), "counts has the type int64"),
    "complex": (replaced("means", lambda m: m.astype(complex)), "means has the type complex128"),
    "NaN in means": (changed("means", (0, 1), np.nan), "means contains nan"),
    "large mean": (changed("means", (0, 1), 1e200), "column 1, with scatter"),
    "NaN in counts": (changed("counts", 0, np.nan), "counts contains nan"),
    "infinite counts": (changed("counts", 0, np.inf), "counts contains inf"),
    "negative counts": (changed("counts", 0, -3.0), "counts, which are numbers of rows, are -3"),
    "no rows": (changed("counts", 0, 0.0), "are 0"),
    "too many rows": (changed("counts", 0, 1e300), "are 1e+300"),
    "two counts": (replaced("counts", lambda c: np.r_[c, c]), "means has the shape (1, 5) instead of (2, 5)"),
    "no counts": (lambda f: f.update(counts=np.ones(0), means=np.ones((0, 5))), "counts has the shape (0,)"),
    "classes without labels": (
        lambda f: f.update(counts=np.ones(2), means=np.ones((2, 5))), "counts has the shape (2,), without labels"
    ),
    "no targets": (replaced("n_targets", lambda _: np.array(0)), "n_targets is 0, without class labels"),
    "negative targets": (replaced("n_targets", lambda _: np.array(-1)), "n_targets is -1"),
    "only targets": (replaced("n_targets", lambda _: np.array(5)), "scatter has the shape (5, 5), with 5 targets"),
    "targets that are a list": (replaced("n_targets", lambda _: np.array([1])), "n_targets has the shape (1,)"),
    "targets that are a float": (replaced("n_targets", lambda _: np.array(1.0)), "n_targets has the type float64"),
    "too few names": (replaced("feature_names", lambda n: n[:3]), "feature_names has the shape (3,) instead of (4,)"),
    "a name twice": (replaced("feature_names", lambda _: np.array(list("abca"))), "feature_names has 'a' 2 times"),
    "names that are numbers": (replaced("feature_names", lambda _: np.arange(4)), "feature_names has the type int64"),
    "labels of a regression": (replaced("labels", lambda _: np.array(["a"])), "n_targets is 1, with class labels"),
    "an unknown entry": (replaced("more", lambda _: np.ones(3)), "an unknown entry 'more.npy'"),
    "no scatter": (lambda f: f.pop("scatter"), "no entry 'scatter.npy'"),
    "no counts entry": (lambda f: f.pop("counts"), "no entry 'counts.npy'"),
    "indefinite": (
        replaced("scatter", lambda S: np.where(np.eye(5, dtype=bool), 1.0, -0.9)), "not positive semidefinite"
    ),
    "too small": (
        lambda f: f.update(scatter=f["scatter"] * 1e-300, means=f["means"] * 1e-150), "out of the range of float64"
    ),
}  # fmt: skip

CLASSES: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "unsorted labels": (replaced("labels", lambda n: n[::-1]), "not sorted and distinct: 'ölbaum' precedes 'yew'"),
    "a label twice": (replaced("labels", lambda n: n[[0, 0, 1]]), "'ash' precedes 'ash'"),
    "NaN among labels": (replaced("labels", lambda _: np.array([0.0, 1.0, np.nan])), "labels contains nan"),
    "too few labels": (replaced("labels", lambda n: n[:2]), "labels has the shape (2,) instead of (3,)"),
    "no labels": (lambda f: f.pop("labels"), "n_targets is 0, without class labels"),
    "a negative count": (changed("counts", 1, -1.0), "counts, which are numbers of rows, are 20, -1, 20"),
    "dates": (replaced("labels", lambda _: np.arange(3).astype("M8[D]")), "labels has the type datetime64[D]"),
}


@pytest.mark.parametrize("case", NUMBERS)
def test_what_is_refused_of_a_regression(case: str, tmp_path: FilePath) -> None:
    change, message = NUMBERS[case]
    found = arrays()
    change(found)
    np.savez(tmp_path / "m.npz", **found)
    assert message in refused(tmp_path / "m.npz")


@pytest.mark.parametrize("case", CLASSES)
def test_what_is_refused_of_classes(case: str, tmp_path: FilePath) -> None:
    change, message = CLASSES[case]
    found = arrays(classes=True)
    change(found)
    np.savez(tmp_path / "m.npz", **found)
    assert message in refused(tmp_path / "m.npz")


@pytest.mark.parametrize("name", ["counts", "labels", "n_targets", "feature_names"])
def test_objects_are_never_unpickled(name: str, tmp_path: FilePath) -> None:
    found = arrays(classes=True)
    found[name] = found[name].astype(object)
    np.savez(tmp_path / "m.npz", **found)
    assert f"{name} has the type object" in refused(tmp_path / "m.npz")


def test_what_is_no_archive(tmp_path: FilePath) -> None:
    file = tmp_path / "m.npz"
    for content in (b"", b"a,b\n1,2\n", b"PK\x03\x04", b"\x00" * 1000):
        file.write_bytes(content)
        assert "not an intact .npz archive" in refused(file)
    np.save(tmp_path / "m.npy", np.ones(3))
    assert "not an intact .npz archive" in refused(tmp_path / "m.npy")
    np.savez(file, **arrays())
    whole = file.read_bytes()
    for size in (10, 100, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:size])
        refused(file)
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("counts.npy", b"no array")
    assert "not an intact .npz archive" in refused(file)
    with zipfile.ZipFile(file, "w"):
        pass
    assert "no entry 'counts.npy'" in refused(file)
    with pytest.raises(FileNotFoundError):
        Moments.load(tmp_path / "absent.npz")


def test_compressed_files_are_refused(tmp_path: FilePath) -> None:
    np.savez_compressed(tmp_path / "m.npz", **arrays())
    assert "'counts.npy' is compressed" in refused(tmp_path / "m.npz")


def test_other_format_versions_are_refused(tmp_path: FilePath) -> None:
    with zipfile.ZipFile(tmp_path / "m.npz", "w") as archive, archive.open("counts.npy", "w") as stream:
        npy.write_array(stream, np.ones(1), version=(2, 0))
    assert "'counts.npy' has format version (2, 0)" in refused(tmp_path / "m.npz")


def with_header(file: FilePath, name: str, header: dict[str, Any], content: bytes, kind: int) -> None:
    """Moments whose entry of one name has a header of its own."""
    with zipfile.ZipFile(file, "w") as archive:
        for other, array in arrays().items():
            stream = io.BytesIO()
            if other == name:
                npy.write_array_header_1_0(stream, header)
                archive.writestr(f"{other}.npy", stream.getvalue() + content, compress_type=kind)
            else:
                npy.write_array(stream, np.asarray(array))
                archive.writestr(f"{other}.npy", stream.getvalue())


@pytest.mark.parametrize("shape", [(10**6, 10**6), (10**12, 10**12), (2**40, 2**24), (-1, -1), (5, -5)])
def test_nothing_is_allocated_for_what_a_header_only_claims(shape: tuple[int, int], tmp_path: FilePath) -> None:
    header = {"descr": "<f8", "fortran_order": False, "shape": shape}
    with_header(tmp_path / "m.npz", "scatter", header, b"\0" * 200, zipfile.ZIP_STORED)
    tracemalloc.start()
    try:
        sentence = refused(tmp_path / "m.npz")
        assert f"scatter has the shape {shape}" in sentence
        assert min(shape) < 0 or "does not match the size of its entry" in sentence
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1e6


@pytest.mark.parametrize("descr", ["<U0", "|S0"])
@pytest.mark.parametrize("name", ["feature_names", "labels", "target_names", "factors"])
def test_texts_of_no_length_take_no_memory(name: str, descr: str, tmp_path: FilePath) -> None:
    """A billion of them fit into an empty entry, but not into memory."""
    stream = io.BytesIO()
    npy.write_array_header_1_0(stream, {"descr": descr, "fortran_order": False, "shape": (10**9,)})
    np.savez(tmp_path / "m.npz", **{key: array for key, array in arrays().items() if key != name})
    with zipfile.ZipFile(tmp_path / "m.npz", "a") as archive:
        archive.writestr(f"{name}.npy", stream.getvalue())
    tracemalloc.start()
    try:
        assert f"{name} has the type" in refused(tmp_path / "m.npz")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1e6


def test_a_header_that_no_parser_can_read(tmp_path: FilePath) -> None:
    header = b"-" * 9000 + b"1"
    with zipfile.ZipFile(tmp_path / "m.npz", "w") as archive:
        archive.writestr("counts.npy", npy.magic(1, 0) + len(header).to_bytes(2, "little") + header)
    assert "the header of 'counts.npy' is nested too deeply" in refused(tmp_path / "m.npz")


def test_entries_that_overlap_are_refused(tmp_path: FilePath) -> None:
    """Bytes that belong to several entries would allocate a multiple of the file."""
    stream, inner = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("means.npy", b"m" * 2000)
    (means,) = archive.infolist()
    npy.write_array_header_1_0(stream, {"descr": f"|S{len(inner.getvalue())}", "fortran_order": False, "shape": (1,)})
    means.header_offset = 30 + len("labels.npy") + len(stream.getvalue())
    with zipfile.ZipFile(tmp_path / "m.npz", "w") as archive:
        archive.writestr("labels.npy", stream.getvalue() + inner.getvalue())
        archive.filelist.append(means)
    with zipfile.ZipFile(tmp_path / "m.npz") as archive:
        assert len(archive.infolist()) == 2
    assert "its entries overlap" in refused(tmp_path / "m.npz")


def test_a_zip_bomb_is_not_inflated(tmp_path: FilePath) -> None:
    header = {"descr": "<f8", "fortran_order": False, "shape": (2000, 2000)}
    with_header(tmp_path / "m.npz", "scatter", header, b"\0" * 32_000_000, zipfile.ZIP_DEFLATED)
    tracemalloc.start()
    try:
        assert "'scatter.npy' is compressed" in refused(tmp_path / "m.npz")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1e6


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_entries_of_one_name(tmp_path: FilePath) -> None:
    with_header(tmp_path / "m.npz", "none", {}, b"", zipfile.ZIP_STORED)
    with zipfile.ZipFile(tmp_path / "m.npz", "a") as archive:
        archive.writestr("counts.npy", archive.read("counts.npy"))
    assert "more than one entry 'counts.npy'" in refused(tmp_path / "m.npz")


def test_other_byte_orders_and_memory_orders_are_read(tmp_path: FilePath) -> None:
    found = arrays(classes=True)
    wanted = Moments.of(X, LABELS[np.arange(60) % 3])
    swapped = {name: array.astype(array.dtype.newbyteorder("S")) for name, array in found.items()}
    swapped["scatter"] = np.asfortranarray(swapped["scatter"])
    np.savez(tmp_path / "m.npz", **swapped)
    again = Moments.load(tmp_path / "m.npz")
    np.testing.assert_array_equal(again.scatter, wanted.scatter)
    np.testing.assert_array_equal(again.labels, LABELS)
    assert again.scatter.dtype.isnative
    assert again.feature_names == tuple(NAMES)
    assert select(again).selected == select(wanted).selected


def equal(a: Moments, b: Moments) -> bool:
    return (
        (a.n_targets, a.feature_names) == (b.n_targets, b.feature_names)
        and (a.labels is None) == (b.labels is None)
        and (a.labels is None or np.array_equal(a.labels, b.labels))
        and all(np.array_equal(getattr(a, field), getattr(b, field)) for field in ("counts", "means", "scatter"))
    )


def loaded(file: FilePath) -> Moments | None:
    """The moments of a file; None if it is refused in the one sentence that there is for that."""
    try:
        return Moments.load(file)
    except ValueError:
        refused(file)
        return None


@settings(max_examples=400, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), classes=st.booleans())
def test_corrupt_bytes_give_the_same_moments_or_an_error(
    data: st.DataObject, classes: bool, tmp_path: FilePath
) -> None:
    """Flipped bytes, a truncated file, or a file in which a part was overwritten by another."""
    file = tmp_path / "m.npz"
    np.savez(file, **arrays(classes))
    wanted, content = Moments.load(file), bytearray(file.read_bytes())
    place = st.integers(0, len(content) - 1)
    how = data.draw(st.sampled_from(["flip", "truncate", "overwrite"]))
    if how == "flip":
        for at in data.draw(st.lists(place, min_size=1, max_size=4)):
            content[at] ^= data.draw(st.integers(1, 255))
    elif how == "truncate":
        del content[data.draw(place) :]
    else:
        start, target, length = data.draw(place), data.draw(place), data.draw(st.integers(1, 400))
        part = content[start : start + length]
        content[target : target + len(part)] = part
    file.write_bytes(content)
    again = loaded(file)
    assert again is None or equal(again, wanted)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), classes=st.booleans())
def test_any_arrays_are_moments_that_can_be_searched_or_an_error(
    data: st.DataObject, classes: bool, tmp_path: FilePath
) -> None:
    """Arrays swapped, or with a random number in a random place, in an archive that is intact."""
    found = arrays(classes)
    names = st.sampled_from(sorted(found))
    if data.draw(st.booleans()):
        a, b = data.draw(names), data.draw(names)
        found[a], found[b] = found[b], found[a]
    else:
        name = data.draw(st.sampled_from(["counts", "means", "scatter"]))
        array = found[name] = found[name].copy()
        array.flat[data.draw(st.integers(0, array.size - 1))] = data.draw(st.floats())
    np.savez(tmp_path / "m.npz", **found)
    again = loaded(tmp_path / "m.npz")
    if again is not None:
        again.save(tmp_path / "n.npz")
        assert equal(Moments.load(tmp_path / "n.npz"), again)
        with contextlib.suppress(ValueError):  # too few rows, or a constant target
            select(again)

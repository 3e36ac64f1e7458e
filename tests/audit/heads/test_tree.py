"""The audit's Merkle trees against RFC 6962's recursion: roots, audit paths, and what no path may prove."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_app.audit.heads.tree import leaf_hash, path_of, root_of, rooted
from tests.heads.literal_merkle import literal_path, literal_root


@pytest.mark.parametrize("size", range(70))
def test_roots_and_paths_of_every_size(size: int) -> None:
    """Roots and paths equal those of the recursion, and each path leads to the root."""
    leaves = [b"%d" % number for number in range(size)]
    hashes = [leaf_hash(leaf) for leaf in leaves]
    root = root_of(hashes)
    assert root == literal_root(leaves)
    for index in range(size):
        path = path_of(hashes, index)
        assert path == literal_path(index, leaves)
        assert rooted(hashes[index], index, size, path) == root


@given(st.data())
def test_nothing_else_has_a_path(data: st.DataObject) -> None:
    """Another leaf, place or count, or a changed, shortened or lengthened path, does not lead to the root."""
    size = data.draw(st.integers(2, 40))
    hashes = [leaf_hash(b"%d" % number) for number in range(size)]
    index = data.draw(st.integers(0, size - 1))
    path, root = path_of(hashes, index), root_of(hashes)
    other = data.draw(st.integers(-2, size + 3).filter(lambda place: place != index))
    assert rooted(hashes[index], other, size, path) != root
    assert rooted(leaf_hash(b"other"), index, size, path) != root
    assert rooted(hashes[index], index, size, path[:-1]) != root
    assert rooted(hashes[index], index, size, [*path, root]) is None
    place = data.draw(st.integers(0, len(path) - 1))
    changed = [*path[:place], leaf_hash(b"other"), *path[place + 1 :]]
    assert rooted(hashes[index], index, size, changed) != root


def test_a_count_is_no_proof_by_itself() -> None:
    """A count that gives a leaf the same neighbours also leads to the root, so the count is signed with it."""
    hashes = [leaf_hash(b"%d" % number) for number in range(5)]
    assert rooted(hashes[0], 0, 6, path_of(hashes, 0)) == root_of(hashes)

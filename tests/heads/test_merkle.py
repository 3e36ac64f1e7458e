"""Merkle trees compared with RFC 6962's recursion written out, itself checked against reference vectors."""

from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_app.heads.records import Tree
from tests.heads.literal_merkle import blake, literal_root

# Leaves and roots of the test vectors in google/certificate-transparency, merkletree/merkle_tree_test.cc.
INPUTS = [
    bytes.fromhex(text)
    for text in (
        *("", "00", "10", "2021", "3031", "40414243", "5051525354555657"),
        "606162636465666768696a6b6c6d6e6f",
    )
]
ROOTS = (
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
)


def root(leaves: list[bytes]) -> bytes:
    """Return the tree's root."""
    tree = Tree()
    for leaf in leaves:
        tree.add(leaf)
    assert tree.size == len(leaves)
    return tree.root()


@pytest.mark.parametrize("size", range(len(ROOTS)))
def test_the_recursion_is_that_of_the_reference(size: int) -> None:
    """With SHA-256, the recursion gives the roots of the reference implementation."""
    assert literal_root(INPUTS[:size], lambda content: sha256(content).digest()).hex() == ROOTS[size]


@pytest.mark.parametrize("size", range(70))
def test_every_size(size: int) -> None:
    """The tree has the recursion's root at every size, to beyond two full levels."""
    leaves = [b"%d" % number for number in range(size)]
    assert root(leaves) == literal_root(leaves)


@given(st.lists(st.binary(max_size=80), max_size=40))
def test_any_leaves(leaves: list[bytes]) -> None:
    """Whatever the leaves hold."""
    assert root(leaves) == literal_root(leaves)


def test_a_node_is_no_leaf() -> None:
    """The two hashes that make up a node give another root if they are put in as one leaf."""
    first, second = blake(b"\x00a"), blake(b"\x00b")
    assert root([b"a", b"b"]) == blake(b"\x01" + first + second)
    assert root([first + second]) != root([b"a", b"b"])

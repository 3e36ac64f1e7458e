"""Tests of `stream_app/heads`: Merkle trees and signing keys."""

"""One module per benchmark, named as in `make bench NAME=..`."""

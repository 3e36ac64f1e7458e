"""One benchmark a file, under the name that `make bench NAME=..` takes."""

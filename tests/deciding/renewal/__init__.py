"""Tests of renewals: policies whose bounds begin their next version."""

"""Tests: one folder per subpackage, plus tests of the whole system."""

"""Dummy landmarks: steps that join the landmarks so that the true ones do not stand out.

This is obfuscation, not differential privacy of the landmarks: every option contains them, and the options depend on
them. Source: Katsomallos, Tzompanaki, Kotzinos, Landmark Privacy, CODASPY 2022, and Katsomallos' thesis (2022). Padding
is this project's own. Steps are numbered 0 .. n - 1 from the start of the range in which dummies are drawn.
"""

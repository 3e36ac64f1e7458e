"""Budgets and policies in plain words, for people. The code is pure and does no arithmetic about privacy.

The core's shells and the audit both describe their own figures with these words, so no file here depends on either.
"""

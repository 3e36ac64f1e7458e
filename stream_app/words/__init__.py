"""Budgets and policies in plain words, for people; pure, and without arithmetic about privacy.

The core's shells and the audit both describe their own figures with these words, so no file here depends on either.
"""

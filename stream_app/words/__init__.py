"""What people read of promises: amounts of budget and policies in plain words; pure, no arithmetic about privacy.

The core's shells and the audit both say their own figures with these words, so no file here knows either of them.
"""

"""Analysis of releases: means, intervals and smoothed estimates of the true values.

Everything uses only releases and public policies, so it is free post-processing (Dwork and Roth 2014, proposition 2.1).
No I/O.
"""

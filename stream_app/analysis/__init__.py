"""Analysis of releases: means, intervals and smoothed estimates of the true values.

Everything uses only releases and public policies, so it is free post-processing (Dwork and Roth 2014, proposition 2.1).
The exceptions are `error` and `best_constant`, the baseline, which need the true values. No I/O.
"""

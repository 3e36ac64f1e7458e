"""The audit of the noise: the real decisions, run on neighbouring histories, give a lower bound of the loss."""

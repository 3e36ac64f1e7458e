"""The noise audit: real decisions on neighbouring histories give a lower bound on the loss."""

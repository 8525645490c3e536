"""A learner, an agent and a source that another package adds to bciigl."""

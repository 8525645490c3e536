"""Who watches a session and takes part in it: the operator's monitor, the participant's screen."""

"""Where trials run: engines behind one small contract, chosen by name."""

"""Side by side with the peers: `python -m benchmarks` prints ratios and judges the bars."""

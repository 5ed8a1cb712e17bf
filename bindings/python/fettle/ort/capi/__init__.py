"""onnxruntime.capi's place."""

// The demonstration model: a picture at twice its size, a little sharper.
#pragma once

#include <string>

namespace fettle::demo {

/// The bytes of an ONNX model (opset 18, IR 8): picture f32[1,3,height,width] in [0, 1] -> cubic x2
/// Resize -> edge Pad -> depthwise 5x5 unsharp Conv -> Clip -> enhanced f32[1,3,2 height, 2 width].
std::string DemoModel();

}  // namespace fettle::demo

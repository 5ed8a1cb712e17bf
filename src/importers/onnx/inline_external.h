// Models whose tensors lie in other files, made one file.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace fettle::onnx {

/// The bytes of `model`, a ModelProto, with the initialisers of its main graph that lie in files of
/// `folder` in it; empty where there are none. Fails as DecodeTensor does; with kUnsupported where
/// the file would pass 2 GiB.
Result<std::string> WithExternalData(std::string_view model, const std::string& folder);

}  // namespace fettle::onnx

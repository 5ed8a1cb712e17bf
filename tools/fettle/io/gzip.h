// Text files that may be compressed.
#pragma once

#include <string>

#include "base/status.h"

namespace fettle::tools {

/// The whole file, decompressed where it is in gzip format. Fails with kNotFound, kIo, kCorrupt on
/// damaged compression, and kInvalidArgument on more than `limit` bytes of text.
Result<std::string> ReadMaybeGzip(const std::string& path, size_t limit = size_t{512} << 20);

}  // namespace fettle::tools

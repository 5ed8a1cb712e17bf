// The OpenCL C sources, compiled into the library.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "device/opencl/opencl_device.h"
#include "kernels/kernel.h"

namespace fettle::kernels {

struct EmbeddedSource {
  std::string_view path;  // below kernels/opencl, e.g. "convert/reorder.cl"
  std::string_view text;
};

/// All sources of this build (generated).
std::span<const EmbeddedSource> EmbeddedSources();

/// The text of a source with each `#include "kernels/opencl/..."` replaced by that file, once. The
/// path is one of this build.
std::string KernelText(std::string_view path);

/// Options of a program: "-DNAME=VALUE ..." in the order in which they are added.
class BuildOptions {
 public:
  BuildOptions& Define(std::string_view name, int64_t value);
  BuildOptions& Add(std::string_view option);
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// The unsigned integer of so many bytes (1, 2, 4 or 8) in OpenCL C.
std::string_view UnsignedName(int64_t bytes);

/// A program from an embedded source, with `before` in front of it (generated macros; may be "").
ProgramSource MakeProgram(std::string_view path, const BuildOptions& options,
                          std::string_view before = {});

/// "-DFETTLE_IMAGE=... -DFETTLE_HALF=...": how access.clh reads and writes tensors in `state`.
BuildOptions AccessOptions(const State& state);
/// "-DFETTLE_COMPUTE=...", nothing for f32.
void DefineArithmetic(Arithmetic arithmetic, const Device& device, BuildOptions& options);

}  // namespace fettle::kernels

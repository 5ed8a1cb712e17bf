// opencl.pool.window against the oracle where several work-items share a window.
#include "tests/kernels/opencl/one_kernel.h"

namespace fettle::kernels {

extern const KernelDesc kOpenClPoolWindow;

namespace {

using OpenClPool = OneOpenClKernel<kOpenClPoolWindow>;

constexpr std::string_view kPlane = "input %x: f32[2x7x9x11]\n";
constexpr std::string_view kVolume = "input %x: f32[1x5x4x6x7]\n";

/// Windows that overlap, and that lie in the padding with most of their taps.
TEST_F(OpenClPool, ItemsShareWindows) {
  const auto check = [&](std::string_view input, std::string_view pool, size_t states,
                         int64_t items) {
    Check(fmt::format("{}%y = {}\noutput %y\n", input, pool), states, {{"ITEMS", items}});
  };
  for (const std::string_view pool :
       {"MaxPool(%x) {kernel_shape=[5,7], pads=[2,3,2,3]}",
        "AveragePool(%x) {kernel_shape=[5,7], strides=[2,3], pads=[4,6,4,6]}",
        "AveragePool(%x) {kernel_shape=[6,6], strides=[2,2], pads=[3,3,3,3], count_include_pad=1}",
        "GlobalAveragePool(%x)", "GlobalMaxPool(%x)"})
    check(kPlane, pool, 4, 32);
  check(kPlane, "MaxPool(%x) {kernel_shape=[3,3]}", 4, 32);
  check(kVolume, "AveragePool(%x) {kernel_shape=[3,4,5], strides=[1,2,2], pads=[1,2,2,1,2,2]}", 2,
        32);
  check(kVolume, "GlobalAveragePool(%x)", 2, 32);
}

}  // namespace
}  // namespace fettle::kernels

// compiled: small
// Programs of three dimensions: images, their pixels and channels, and operands that are a pixel
// for each image.
#include <algorithm>

#include "kernels/cpu/elementwise/program.h"

namespace fettle::kernels::elementwise {

void Program::JoinTiles() {
  constexpr int64_t kFew = 64, kFewRows = 4;
  const auto is_bound = [](const Operand& operand) {
    return operand.input >= 0 || operand.pack >= 0;
  };
  first_of_tile_ = 0;
  tile_ = 0;
  if (dims_.size() < 3 || operands_.size() > kMostJoined ||
      !std::all_of(operands_.begin(), operands_.end(), is_bound))
    return;
  size_t first = dims_.size() - 2;
  int64_t tile = dims_[first] * dims_[first + 1];
  if (tile == 0 || tile > (dims_[first] <= kFewRows ? kJoined / 2 : kFew)) return;
  for (; first > 1 && tile * dims_[first - 1] <= kJoined / 2; --first) tile *= dims_[first - 1];
  first_of_tile_ = first;
  tile_ = tile;
}

bool Program::TakeGates(const Problem& problem) {
  using Strides = std::vector<int64_t>;
  const Shape& y = problem.shape(problem.group->outputs[0]);
  const int64_t images = y[0], channels = dims_[2];
  if (y.rank() < 3 || y.elements() == 0 || y[1] != channels ||
      problem.states.outputs[0].layout != Layout::ChannelsLast(y.rank()))
    return false;
  const int64_t pixels = y.elements() / images / channels;
  if (pixels == 1 || images == 1 || channels == 1) return false;  // fewer dimensions
  const Strides whole{dims_[1] * channels, channels, 1}, gate{channels, 0, 1};
  for (const Operand& operand : operands_) {
    if (operand.input < 0 && operand.pack < 0) return false;
    const Strides& strides = operand.strides;
    const bool is_vector = strides[0] == 0 && strides[1] == 0 && strides[2] <= 1;
    if (is_vector) continue;
    if (operand.input < 0 || (strides != whole && strides != gate)) return false;
    const Shape& x = problem.shape(problem.group->inputs[operand.input]);
    const int64_t elements = strides == whole ? y.elements() : images * channels;
    if (x.rank() != y.rank() || x[0] != images || x[1] != channels || x.elements() != elements)
      return false;
  }
  dims_ = {images, pixels, channels};
  rows_ = images * pixels;
  for (Operand& operand : operands_)
    if (operand.strides == whole) operand.strides[0] = pixels * channels;
  JoinTiles();
  return true;
}

}  // namespace fettle::kernels::elementwise

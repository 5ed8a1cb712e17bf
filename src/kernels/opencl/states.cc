#include "kernels/opencl/states.h"

#include <algorithm>

#include "kernels/opencl/launch.h"

namespace fettle::kernels {
namespace {

State BufferOf(Layout layout, DType storage) {
  return {.device = DeviceKind::kOpenCl,
          .memory = MemoryKind::kBuffer,
          .layout = std::move(layout),
          .storage = storage};
}

const Layout& BlockedChannels() {
  static const Layout kLayout = *LayoutFromName("NCHW4c", 4);
  return kLayout;
}
const Layout& ChannelPixels() {
  static const Layout kLayout = *LayoutFromName("NC4HW4", 4);
  return kLayout;
}
const Layout& ChannelPixelRows() {
  static const Layout kLayout = *LayoutFromName("NC4W4", 3);
  return kLayout;
}

}  // namespace

bool IsFloatValue(DType type) {
  return type == DType::kF32 || type == DType::kF16 || type == DType::kBF16;
}

bool PrefersImages(const OpenClFacts& facts) {
  return facts.family == "adreno" || facts.family == "powervr";
}

std::vector<State> PixelStates(const Device& device) {
  const OpenClFacts& facts = AsOpenCl(device).facts();
  std::vector<State> buffers, images;
  for (DType storage : {DType::kF32, DType::kF16}) {
    buffers.push_back(BufferOf(BlockedChannels(), storage));
    if (!(storage == DType::kF32 ? facts.images : facts.half_images)) continue;
    State image = BufferOf(ChannelPixels(), storage);
    image.memory = MemoryKind::kImage2d;
    images.push_back(std::move(image));
  }
  const bool prefers_images = PrefersImages(facts);
  std::vector<State> states = prefers_images ? images : buffers;
  const std::vector<State>& rest = prefers_images ? buffers : images;
  states.insert(states.end(), rest.begin(), rest.end());
  return states;
}

bool IsPixels(const State& state) {
  if (state.memory == MemoryKind::kImage2d)
    return state.layout == ChannelPixels() || state.layout == ChannelPixelRows();
  return state.memory == MemoryKind::kBuffer && state.layout == BlockedChannels();
}

std::vector<State> RowStates() {
  return {BufferOf(Layout::RowMajor(), DType::kF32), BufferOf(Layout::RowMajor(), DType::kF16)};
}

State RowStateOf(const ir::Value& value, const State& like) {
  return BufferOf(Layout::RowMajor(), IsFloatValue(value.dtype) ? like.storage : value.dtype);
}

State StateBeside(const ir::Value& value, const State& like, int rank) {
  const Shape& shape = *value.shape;
  const bool can_be_pixels =
      like.memory == MemoryKind::kImage2d ? HasPixelRank(shape) : HasVolumeRank(shape);
  if (!IsPixels(like) || !IsFloatValue(value.dtype) || !can_be_pixels || shape.rank() != rank)
    return RowStateOf(value, like);
  State state = like;
  if (state.memory == MemoryKind::kImage2d)
    state.layout = rank == 3 ? ChannelPixelRows() : ChannelPixels();
  return state;
}

StateAssignment StatesBeside(const ir::Graph& group, const State& like) {
  StateAssignment states;
  const int rank = group.value(group.outputs[0]).shape->rank();
  for (ir::ValueId id : group.inputs)
    states.inputs.push_back(StateBeside(group.value(id), like, rank));
  for (ir::ValueId id : group.outputs)
    states.outputs.push_back(StateBeside(group.value(id), like, rank));
  return states;
}

std::vector<StateAssignment> RowAssignments(const ir::Graph& group) {
  std::vector<StateAssignment> states;
  for (const State& form : RowStates()) {
    StateAssignment made = StatesBeside(group, form);
    if (states.empty() || states.back() != made) states.push_back(std::move(made));
  }
  return states;
}

size_t InputIndex(const ir::Graph& group, ir::ValueId id) {
  const auto at = std::find(group.inputs.begin(), group.inputs.end(), id);
  FETTLE_CHECK(at != group.inputs.end(), "a group reads a value that it does not name");
  return static_cast<size_t>(at - group.inputs.begin());
}

Result<std::vector<StateAssignment>> HalfStates(const ir::Graph& group,
                                                Result<std::vector<StateAssignment>> candidates,
                                                const Device& device) {
  if (!candidates.ok()) return candidates;
  if (!AsOpenCl(device).facts().fp16_compute) return Unsupported("device has no cl_khr_fp16");
  const auto is_float = [&](ir::ValueId id) { return IsFloatValue(group.value(id).dtype); };
  if (!std::all_of(group.inputs.begin(), group.inputs.end(), is_float) ||
      !std::all_of(group.outputs.begin(), group.outputs.end(), is_float))
    return Unsupported("operands that are not floats");
  const auto is_half = [](const State& state) { return state.storage == DType::kF16; };
  std::erase_if(*candidates, [&](const StateAssignment& states) {
    return !std::all_of(states.inputs.begin(), states.inputs.end(), is_half) ||
           !std::all_of(states.outputs.begin(), states.outputs.end(), is_half);
  });
  if (candidates->empty()) return Unsupported("no operand can be stored as f16");
  return candidates;
}

}  // namespace fettle::kernels

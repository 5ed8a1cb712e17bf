// The states in which OpenCL kernels take tensors.
#pragma once

#include <vector>

#include "device/opencl/opencl_device.h"
#include "kernels/kernel.h"

namespace fettle::kernels {

/// Whether kernels compute values of this type in fp32.
bool IsFloatValue(DType type);

/// Whether GPUs of the family read images by a cache of their own, so that plans before measuring
/// have pixels and weights there.
bool PrefersImages(const OpenClFacts& facts);

/// Tensors of rank 4 as pixels of four channels: NCHW4c in buffers and NC4HW4 in images, each
/// stored as f32 and f16, as far as the device has them. The form that suits the family first.
std::vector<State> PixelStates(const Device& device);
/// Also of rank 3, which are pixels of height 1: the same blocks in buffers, NC4W4 in images.
bool IsPixels(const State& state);
inline bool HasPixelRank(const Shape& shape) { return shape.rank() == 3 || shape.rank() == 4; }
/// Also of rank 5, in buffers alone: as planes that lie below each other (PlaneOf).
inline bool HasVolumeRank(const Shape& shape) { return HasPixelRank(shape) || shape.rank() == 5; }

/// Row-major buffers whose float values are stored as f32, and as f16.
std::vector<State> RowStates();
/// A row-major buffer beside tensors in `like`: float values are stored as those, others as they
/// are.
State RowStateOf(const ir::Value& value, const State& like);

/// The state of a value beside an output of rank `rank` in `like`: the same pixels where it is a
/// float tensor of that rank, 3 or 4, in buffers 5 too; else a row-major buffer.
State StateBeside(const ir::Value& value, const State& like, int rank);
/// All operands of a group beside its first output in `like`.
StateAssignment StatesBeside(const ir::Graph& group, const State& like);

/// All float operands of a group stored as f32, and as f16, in row-major buffers: one assignment
/// where it has none.
std::vector<StateAssignment> RowAssignments(const ir::Graph& group);

/// The position of a value that is bound at launch among the inputs of its group.
size_t InputIndex(const ir::Graph& group, ir::ValueId id);

/// Those of a kernel's candidates in which the same kernel may compute in f16: all operands are
/// floats, stored as f16. kUnsupported where there are none or the device does not compute in f16.
Result<std::vector<StateAssignment>> HalfStates(const ir::Graph& group,
                                                Result<std::vector<StateAssignment>> candidates,
                                                const Device& device);

}  // namespace fettle::kernels

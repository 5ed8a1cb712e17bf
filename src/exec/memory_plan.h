// Static memory planning: which tensors share bytes, and where each lies in one arena.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/memory_marks.h"
#include "exec/arena_marks.h"
#include "exec/plan.h"
#include "tensor/tensor.h"

namespace fettle::exec {

/// A block of bytes that lives during steps [first, last].
struct Interval {
  int64_t bytes = 0;
  int first = 0;
  int last = 0;
};

struct ArenaPlan {
  std::vector<int64_t> offsets;  // one per interval, 64-byte aligned
  int64_t bytes = 0;             // BlockGap() behind the last included
};

/// Bytes behind each block of an arena: those that may be read, and a red zone where memory is
/// marked.
inline int64_t BlockGap() { return static_cast<int64_t>(kTensorSlack) + marks::RedZone(); }

/// What a block of that many bytes takes in an arena.
int64_t BlockBytes(int64_t bytes);

/// Places intervals so that those alive together never overlap, each followed by BlockGap().
/// Largest first into the lowest gap that fits ("greedy by size", Pisarchyk and Lee,
/// arXiv:2001.03288).
ArenaPlan PlanArena(std::span<const Interval> intervals);

/// Where a tensor's bytes are.
struct Placement {
  enum class Kind { kBytes, kInput, kOutput, kImage };
  Kind kind = Kind::kBytes;
  int index = 0;       // of the graph input or output; of an image among those of its storage type
  int64_t offset = 0;  // into the device's bytes, the input or the output
  int device = 0;      // of the bytes or the image, in DeviceSet::all()
};

/// What a program needs of one device: bytes (of the CPU an arena, of others a buffer), and images.
struct DeviceNeeds {
  int64_t bytes = 0;
  std::vector<MemoryRequest> images;
  /// The most that tensors and workspaces there hold at any step; no plan can need less.
  int64_t live_bytes = 0;
  /// What lies in the bytes, and when which image holds a tensor: where memory is marked.
  std::vector<ArenaBlock> blocks;
  std::vector<ImageLife> image_lives;
};

struct MemoryPlan {
  std::vector<Placement> tensors;   // one per plan tensor
  std::vector<int64_t> workspaces;  // offset per step into the bytes of its device
  /// Graph outputs whose tensor lies elsewhere and is copied at the end of a run (index of the
  /// output).
  std::vector<int> copied_outputs;
  std::vector<DeviceNeeds> devices;  // as DeviceSet::all()
};

/// `devices`: the kinds of DeviceSet::all(), the CPU first, and of all tensors.
/// `aliases[i]` and `workspace_bytes[i]` are those of step i's prepared kernel. Views share their
/// root's bytes, kernels run in place where their input dies, graph outputs are written directly
/// where nothing else shares their bytes. Tensors in images are whole objects: those that live at
/// different times share one, which is as large as the largest of them.
MemoryPlan PlanMemory(const Plan& plan, std::span<const DeviceKind> devices,
                      std::span<const std::vector<kernels::Alias>> aliases,
                      std::span<const int64_t> workspace_bytes);

}  // namespace fettle::exec

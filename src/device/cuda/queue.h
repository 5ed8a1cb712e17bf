// A queue of NVIDIA's CUDA driver: launches, copies, and launches that are recorded once and
// replayed.
#pragma once

#include <memory>
#include <span>

#include "device/cuda/modules.h"

namespace fettle::cuda {

class Queue;

/// Launches as one graph, of the thread of its queue, which outlives it.
class Recorded {
 public:
  ~Recorded();
  Recorded(const Recorded&) = delete;
  Recorded& operator=(const Recorded&) = delete;
  /// Behind everything that its queue holds.
  Status Launch();

 private:
  friend class Queue;
  explicit Recorded(Queue& queue) : queue_(queue) {}

  Queue& queue_;
  Graph graph_ = nullptr;
  GraphExec ready_ = nullptr;
};

/// Works in order. Belongs to one thread at a time.
class Queue {
 public:
  static fettle::Result<std::unique_ptr<Queue>> Create(std::shared_ptr<Modules> modules);
  ~Queue();
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  /// Enqueues one launch; a new program is compiled first. kUnsupported, with nothing enqueued,
  /// where ModuleTextOf refuses the program; kDeviceError.
  Status Launch(const cuda::Launch& launch);
  /// Has read the host's bytes when it returns. Pinned bytes are the exception: it reads them until
  /// a Mark behind it has passed.
  Status Write(Address to, const void* from, size_t bytes);
  /// Waits until the bytes have arrived.
  Status Read(void* to, Address from, size_t bytes);
  /// Read without waiting, into pinned memory.
  Status StartRead(void* to, Address from, size_t bytes);
  /// The place behind what is enqueued, for WaitFor.
  fettle::Result<std::shared_ptr<void>> Mark();
  Status WaitFor(const std::shared_ptr<void>& mark);
  /// Pinned memory of the host, which may outlive the queue; null where there is no more.
  std::shared_ptr<std::byte> AllocatePinned(int64_t bytes) const;
  /// `launches`, in order, as one graph. New programs are compiled first. Fails as Launch does.
  fettle::Result<std::unique_ptr<Recorded>> Record(std::span<const cuda::Launch> launches);
  /// Waits for all.
  Status Wait();

 private:
  friend class Recorded;
  explicit Queue(std::shared_ptr<Modules> modules) : modules_(std::move(modules)) {}
  Status Capture(std::span<const cuda::Launch> launches, Graph& graph);

  std::shared_ptr<Modules> modules_;
  Stream stream_ = nullptr;
  bool is_pending_ = false;
};

}  // namespace fettle::cuda

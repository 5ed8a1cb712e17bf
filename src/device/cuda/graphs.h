// Launches that are recorded once and replayed by NVIDIA's CUDA driver.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "device/cuda/primary_context.h"

namespace fettle::cuda {

/// One launch. Views live while it is recorded.
struct Launch {
  std::string_view program;  // its name among programs
  std::string_view function;
  std::function<std::vector<std::byte>()> ptx;  // asked for where the program is new
  std::array<unsigned, 3> groups{1, 1, 1}, items{1, 1, 1};
  std::vector<std::array<std::byte, 64>> parameters;  // each begins with its bytes
};

/// The programs and graphs of one device. Thread-safe.
class Graphs {
 public:
  explicit Graphs(std::shared_ptr<PrimaryContext> context) : context_(std::move(context)) {}
  ~Graphs();
  Graphs(const Graphs&) = delete;
  Graphs& operator=(const Graphs&) = delete;

  /// A queue, which outlives what is recorded for it. Belongs to one thread at a time.
  class Queue {
   public:
    static fettle::Result<std::unique_ptr<Queue>> Create(std::shared_ptr<Graphs> graphs);
    ~Queue();
    Queue(const Queue&) = delete;
    Queue& operator=(const Queue&) = delete;
    /// Waits for what was launched.
    Status Wait();

   private:
    friend class Graphs;
    explicit Queue(std::shared_ptr<Graphs> graphs) : graphs_(std::move(graphs)) {}

    std::shared_ptr<Graphs> graphs_;
    Stream stream_ = nullptr;
    bool is_pending_ = false;
  };

  /// Launches as one graph. Belongs to the thread of its queue.
  class Recorded {
   public:
    ~Recorded();
    Recorded(const Recorded&) = delete;
    Recorded& operator=(const Recorded&) = delete;
    /// Behind what its queue has.
    Status Launch();

   private:
    friend class Graphs;
    explicit Recorded(Queue& queue) : queue_(queue) {}

    Queue& queue_;
    Graph graph_ = nullptr;
    GraphExec ready_ = nullptr;
  };

  /// `launches`, in order, as one graph. New programs are compiled first, several at a time.
  /// kUnsupported for what ModuleTextOf does not take, kDeviceError.
  fettle::Result<std::unique_ptr<Recorded>> Record(std::span<const Launch> launches, Queue& queue);

 private:
  struct Program {
    Module module = nullptr;
    std::map<std::string, int64_t, std::less<>> dynamic_bytes;
  };
  fettle::Result<Program> Load(const Launch& launch) const;
  Status LoadAll(std::span<const Launch> launches);
  Status Capture(const Launch& launch, Stream stream) const;
  Status CaptureAll(std::span<const Launch> launches, Stream stream, Graph& graph) const;
  const Api& api() const { return context_->api(); }
  Status Check(Result code, std::string_view what) const { return StatusOf(api(), code, what); }

  std::shared_ptr<PrimaryContext> context_;
  std::mutex mutex_;  // guards what follows, and recording
  std::map<std::string, Program, std::less<>> programs_;
};

}  // namespace fettle::cuda

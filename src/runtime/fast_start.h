// Prepares a session for devices beside the CPU while a session on the CPU answers.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/bindings.h"
#include "runtime/session.h"

namespace fettle::runtime {

/// `options` for the CPU alone, without plans that were made for other devices.
SessionOptions OnTheCpu(SessionOptions options);

/// Belongs to the thread that runs the session on the CPU, state() excepted.
class FastStart {
 public:
  /// Makes the session for the devices beside the CPU.
  using Makes = std::function<Result<std::unique_ptr<Session>>()>;

  /// `whole`, which `stops` cancels, has run nothing. Null: the preparing thread first calls
  /// `makes`. `devices` names the devices until they are known.
  FastStart(const Session& on_cpu, std::unique_ptr<Session> whole, Makes makes, std::string devices,
            int most_shapes, std::unique_ptr<std::atomic<bool>> stops);
  /// Waits for running compilations.
  ~FastStart();
  FastStart(const FastStart&) = delete;
  FastStart& operator=(const FastStart&) = delete;

  /// Announces shapes of later runs.
  void ObserveShapes(const std::map<std::string, Shape>& shapes);
  /// Reports a run on the CPU; inputs with new shapes are copied.
  void Observe(const TensorMap& inputs);
  void Observe(const BufferMap& inputs);
  /// The session, once it is ready for runs of all these shapes; null: not yet. Given out once.
  std::unique_ptr<Session> Take();
  /// Destroys `old` without making the caller wait.
  void End(std::unique_ptr<Session> old);
  StartState state() const;

 private:
  using Stage = StartState::Stage;
  using Shapes = std::map<std::string, Shape>;

  template <typename Inputs>
  void ObserveRun(const Shapes& shapes, const Inputs& inputs);
  void Work();
  /// Makes whole_ where it does not exist yet.
  Status MakeWhole(std::unique_lock<std::mutex>& lock);
  /// Prepares and runs for all shapes seen, until no more come; fails where the devices do.
  Status GetReady(std::unique_lock<std::mutex>& lock);
  void Stay(std::string reason);
  double Seconds() const;

  const std::string model_;  // its name
  const Makes makes_;
  const size_t most_shapes_;
  const int64_t begin_ns_;
  const std::unique_ptr<std::atomic<bool>> stops_;
  std::atomic<bool> watches_ = true, is_ready_ = false;
  mutable std::mutex mutex_;  // of all that follows
  std::condition_variable changed_;
  std::string devices_;  // their names
  StartState state_;
  std::vector<Shapes> seen_;  // of runs
  std::deque<Shapes> shapes_;
  std::deque<TensorMap> inputs_;
  std::unique_ptr<Session> whole_, old_;
  std::thread thread_;
};

}  // namespace fettle::runtime

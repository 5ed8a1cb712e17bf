// Backends: what the layers above know of a kind of device. A row each in backends.cc.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kernels/ceiling.h"
#include "kernels/kernel.h"
#include "kernels/ladder.h"

namespace fettle {
struct CompileProcesses;  // device/compile_elsewhere.h
}

namespace fettle::kernels {

/// A device that can be opened: by `which`, and known again by its fingerprint.
struct ListedDevice {
  std::string which, name, fingerprint;
};

/// All that kernels ask of a device, by name.
using Fact = std::variant<bool, int64_t, std::string>;
using Facts = std::map<std::string, Fact, std::less<>>;

/// A kind of device with its kernels. Functions may be called by any thread; those of devices take
/// devices of this backend.
struct Backend {
  /// At most eight small letters and digits: in states, in front of kernels' names, in --device.
  std::string_view name;
  std::string_view title;   // in documentation
  std::string_view choice;  // what may stand behind the name in --device: "[:PLATFORM[:DEVICE]]"
  std::span<const KernelDesc* const> (*kernels)() = nullptr;
  /// Opens the device that `which` names, "" the best. Null for the CPU, which each session has.
  Result<std::shared_ptr<const Device>> (*open)(std::string_view which,
                                                const OpenOptions& options) = nullptr;
  /// What `open` could open; null for the CPU.
  Result<std::vector<ListedDevice>> (*list)() = nullptr;
  /// The ceilings of a device, measured: part of a second for bounds, some seconds for all.
  Result<std::vector<Ceiling>> (*probe)(const Device& device,
                                        const ProbeRequest& request) = nullptr;
  /// OK, or why there is no conversion between two states of which one is of this backend and the
  /// other of this or of the CPU's. Cheap: nothing is built.
  Status (*check_conversion)(const Shape& shape, const State& from, const State& to) = nullptr;
  /// A kernel with one input in state `from` and one output in state `to`. Where it reads from
  /// another memory than the host's it waits; its workspace is the device's.
  Result<std::unique_ptr<PreparedKernel>> (*convert)(const Shape& shape, const State& from,
                                                     const State& to,
                                                     const Device& device) = nullptr;
  /// The canonical operators of which kernels take some form as a group of its own, sorted, for
  /// documentation; null for the CPU, which takes all.
  std::span<const std::string_view> (*operators)() = nullptr;
  /// Its kernels for products, step by step; null where it has none to show.
  ProductLadder (*product_ladder)() = nullptr;
  /// Lets other processes compile the programs of the first device that asks, until the returned
  /// object is destroyed. The device need not be open yet. Null, like serve_compiles, for a backend
  /// that compiles nothing.
  std::shared_ptr<void> (*compile_elsewhere)(const CompileProcesses& processes) = nullptr;
  /// The work of such a process: opens the device `which` for compiling only, and compiles what
  /// standard input asks for until it is closed. Returns the exit code.
  Result<int> (*serve_compiles)(std::string_view which) = nullptr;
  /// The facts of a device, and a device made from such facts that is not present. Kernels match on
  /// it and are priced as on the real one, but nothing can be allocated, built or run. Fails with
  /// kInvalidArgument, naming the fact, where no device has such facts. Null for the CPU.
  Facts (*facts)(const Device& device) = nullptr;
  Result<std::shared_ptr<const Device>> (*on_paper)(const Facts& facts) = nullptr;

  DeviceKind kind() const { return DeviceKindOf(name); }
};

/// The CPU's first.
std::span<const Backend* const> Backends();
/// Null where no backend has that name.
const Backend* FindBackend(DeviceKind kind);
/// The kernel of that name, of any backend; null where no kernel has it.
const KernelDesc* FindKernel(std::string_view name);
/// What names a device: "auto|cpu|opencl[:PLATFORM[:DEVICE]]".
std::string DeviceChoices();
/// The backend that a device name such as "opencl:0:1" belongs to, and the rest of the name. Null
/// for an unknown backend, and for a name with more parts than the backend takes.
const Backend* BackendOfChoice(std::string_view device, std::string_view* which);
/// For tests: one more row, which outlives all use of it. Not while other threads run.
void AddBackend(const Backend& backend);

/// Where a conversion runs: beside the CPU if either state is.
DeviceKind ConversionDevice(const State& from, const State& to);
/// OK, or why there is no such conversion. Two devices beside the CPU exchange tensors through the
/// CPU's memory, in two conversions.
Status CheckConversion(const Shape& shape, const State& from, const State& to);
/// Backend::convert; `device` is of ConversionDevice's kind.
Result<std::unique_ptr<PreparedKernel>> PrepareAnyConversion(const Shape& shape, const State& from,
                                                             const State& to, const Device& device);

/// Backend::compile_elsewhere for the device of that name ("opencl:0:1"); null where no backend has
/// that name or it compiles nothing.
std::shared_ptr<void> CompileElsewhere(std::string_view device, const CompileProcesses& processes);
/// Backend::serve_compiles for the device of that name ("opencl:0:1"). kUnsupported where no
/// backend has that name or it compiles nothing.
Result<int> ServeCompiles(std::string_view device);

}  // namespace fettle::kernels

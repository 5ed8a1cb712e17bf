// What is measured, and the keys of what came of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kernels/kernel.h"
#include "tuner/store/store.h"

namespace fettle::tuner {

/// The version of all that a time depends on besides the kernel: how operands are made, what is
/// cold, how samples become a number. Part of RowKey.
inline constexpr int kProtocol = 1;
/// The protocol that differs in one respect: packed constants come from memory
/// (MeasureOptions::cold_constants). Rows of either are priors of the other.
inline constexpr int kColdProtocol = 2;
/// The protocol of devices beside the CPU: where they work while the host goes on, times of the
/// device alone, behind a gate where the host may need longer to enqueue a launch.
inline constexpr int kDeviceProtocol = 3;
/// That of `device`, where constants are not cold.
inline int ProtocolOn(const Device& device) {
  return device.kind() == DeviceKind::kCpu ? kProtocol : kDeviceProtocol;
}

/// One way to compute a group. `problem.threads` is what a launch may use: runs on one thread and
/// on several are distinct problems.
struct Candidate {
  const kernels::KernelDesc* kernel = nullptr;
  kernels::Problem problem;
  kernels::Params params;
};

RowKey KeyOf(const Candidate& candidate, const Device& device);
/// The same, where the text of the group (kernels::PrintCosts) is at hand.
RowKey KeyOf(const Candidate& candidate, std::string_view group_text, const Device& device);

/// Of what the host takes to enqueue what `key` is of, as `median_us`.
RowKey HostKey(RowKey key);
/// The row of `key` with its Row::host_us, and keeping both.
Result<Row> FindTimes(const RowKey& key, Store& store);
void PutTimes(const RowKey& key, const Row& row, Store& store);

/// kernels::BuildOf of what the backend of `device` has beside kernels: "convert" or "probe".
std::string BuildOfPart(const Device& device, std::string_view part);

/// Of a conversion of a tensor from one state to another.
RowKey ConversionKey(const Shape& shape, const State& from, const State& to, int threads,
                     const Device& device);

/// Of what networks taught of a device beside the CPU, as a whole.
RowKey NetworksKey(std::string_view of, const Device& accelerator);

}  // namespace fettle::tuner

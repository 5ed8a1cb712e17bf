// Launches behind a gate, on a queue whose host and device take what they are told to.
#include "device/gated_launches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace fettle {
namespace {

/// An in-order queue in a time of its own, microseconds.
class FakeQueue final : public HoldingStream {
 public:
  double host_us = 6, device_us = 2;
  bool waits = false;

  Status Launch() {
    Enqueue(host_us, device_us);
    return waits ? Synchronise() : OkStatus();
  }
  bool holds() const override { return true; }
  Status Hold(double us) override {
    if (!std::exchange(has_gate_, true)) now_us_ += kMakingGateUs;
    Enqueue(kGateHostUs, us);
    return OkStatus();
  }
  Status Synchronise() override {
    now_us_ = std::max(now_us_, free_us_) + kWakeUs;
    return OkStatus();
  }
  Status Write(const DeviceMemory&, int64_t, const void*, int64_t) override { return OkStatus(); }
  Status Read(void*, const DeviceMemory&, int64_t, int64_t) override { return OkStatus(); }

  Result<std::optional<LaunchTimes>> Time() {
    GatedLaunches gated([this] { return static_cast<int64_t>(now_us_ * 1e3); });
    return gated.Time(*this, [this] { return Launch(); });
  }

 private:
  static constexpr double kGateHostUs = 3, kWakeUs = 4, kMakingGateUs = 3000;
  void Enqueue(double host, double device) {
    now_us_ += host;
    free_us_ = std::max(free_us_, now_us_) + device;
  }
  double now_us_ = 0, free_us_ = 0;
  bool has_gate_ = false;
};

void ExpectTimes(double host_us, double device_us) {
  FakeQueue queue;
  queue.host_us = host_us;
  queue.device_us = device_us;
  const auto times = queue.Time().value();
  ASSERT_TRUE(times.has_value());
  EXPECT_NEAR(times->host_us, host_us, 0.01);
  EXPECT_NEAR(times->device_us, device_us, 0.01);
}

TEST(GatedLaunches, TellTheDeviceFromASlowerHost) { ExpectTimes(6, 2); }
TEST(GatedLaunches, TellTheDeviceFromAFasterHost) { ExpectTimes(5, 40); }
TEST(GatedLaunches, WaitBehindALongerGateWhereTheHostIsSlow) { ExpectTimes(90, 2); }

TEST(GatedLaunches, SayNothingOfLaunchesThatWait) {
  FakeQueue queue;
  queue.waits = true;
  EXPECT_FALSE(queue.Time().value().has_value());
}

TEST(GatedLaunches, FailAsALaunchDoes) {
  FakeQueue queue;
  GatedLaunches gated([] { return int64_t{0}; });
  const auto times = gated.Time(queue, [] { return Error(StatusCode::kDeviceError, "no"); });
  EXPECT_EQ(times.status().code(), StatusCode::kDeviceError);
}

}  // namespace
}  // namespace fettle

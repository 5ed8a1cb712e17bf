// A device beside the CPU whose memory is the host's and yet apart: what is above devices sees
// handles, and launches run when somebody waits.
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "device/device.h"
#include "tensor/tensor.h"
#include "tests/annex/annex_programs.h"

namespace fettle {

inline constexpr DeviceKind kAnnex = DeviceKindOf("annex");

/// base() is the object, not its bytes.
class AnnexMemory final : public DeviceMemory {
 public:
  AnnexMemory(const MemoryRequest& request, std::shared_ptr<std::byte> bytes)
      : DeviceMemory(request), bytes_(std::move(bytes)) {}
  void* base() const override { return const_cast<AnnexMemory*>(this); }
  std::byte* bytes() const { return bytes_.get(); }

  /// What a location in annex memory stands for.
  static std::byte* At(const Location& location) {
    return static_cast<const AnnexMemory*>(location.base)->bytes() + location.offset;
  }

 private:
  std::shared_ptr<std::byte> bytes_;
};

/// What goes wrong in the annex.
struct AnnexFaults {
  std::string deadly_op;  // a kernel of this operator takes the device with it
  bool is_lost = false;   // then nothing works any more

  Status Check() const {
    return is_lost ? Error(StatusCode::kDeviceError, "the annex is lost") : OkStatus();
  }
};
inline AnnexFaults& FaultsOfAnnex() {
  static AnnexFaults faults;
  return faults;
}

class AnnexStream final : public Stream {
 public:
  ~AnnexStream() override { (void)Synchronise(); }
  void Enqueue(std::function<Status()> work) { queue_.push_back(std::move(work)); }
  Status Write(const DeviceMemory& to, int64_t offset, const void* from, int64_t bytes) override {
    RETURN_IF_ERROR(FaultsOfAnnex().Check());
    RETURN_IF_ERROR(Synchronise());
    std::memcpy(AnnexMemory::At(to.location(offset)), from, static_cast<size_t>(bytes));
    ++transfers_.copies;
    transfers_.copied_bytes += bytes;
    return OkStatus();
  }
  Status Read(void* to, const DeviceMemory& from, int64_t offset, int64_t bytes) override {
    RETURN_IF_ERROR(Synchronise());
    std::memcpy(to, AnnexMemory::At(from.location(offset)), static_cast<size_t>(bytes));
    ++transfers_.copies;
    transfers_.copied_bytes += bytes;
    return OkStatus();
  }
  Status Synchronise() override {
    Status status;
    for (const auto& work : std::exchange(queue_, {}))
      if (status.ok()) status = work();
    return status;
  }
  Transfers transfers() const override { return transfers_; }

 private:
  std::vector<std::function<Status()>> queue_;
  Transfers transfers_;
};

class AnnexDevice final : public Device {
 public:
  DeviceKind kind() const override { return kAnnex; }
  std::string_view name() const override { return "the annex"; }
  std::string_view fingerprint() const override { return "annex 1"; }
  Result<std::shared_ptr<DeviceMemory>> Allocate(const MemoryRequest& request) const override {
    RETURN_IF_ERROR(CheckLimits(request));
    ASSIGN_OR_RETURN(std::shared_ptr<std::byte> bytes, AllocateHost(request.bytes));
    return std::shared_ptr<DeviceMemory>(new AnnexMemory(request, std::move(bytes)));
  }
  Status CheckLimits(const MemoryRequest& request) const override {
    return request.kind == MemoryKind::kBuffer ? OkStatus()
                                               : Unsupported("the annex has buffers alone");
  }
  Result<std::unique_ptr<Stream>> NewStream(const StreamOptions&) const override {
    return std::unique_ptr<Stream>(new AnnexStream());
  }
  std::vector<ProgramBinary> ExportPrograms() const override { return programs_->Export(); }
  void ImportPrograms(std::vector<ProgramBinary> programs) const override {
    programs_->Import(programs);
  }
  ProgramStatistics program_statistics() const override { return programs_->statistics(); }
  AnnexPrograms& programs() const { return *programs_; }

 private:
  const std::unique_ptr<AnnexPrograms> programs_ = std::make_unique<AnnexPrograms>();
};

}  // namespace fettle

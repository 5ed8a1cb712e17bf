#include "runtime/package/package.h"

#include <flatbuffers/flatbuffers.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/hash.h"
#include "runtime/package/format.h"
#include "runtime/package/graph_reader.h"
#include "runtime/package/index_generated.h"

namespace fettle::runtime {
namespace package {
namespace {

static_assert(std::endian::native == std::endian::little, "packages are read in place");

template <typename... Args>
Status Corrupt(fmt::format_string<Args...> format, Args&&... args) {
  return Error(StatusCode::kCorrupt, format, std::forward<Args>(args)...);
}

/// The header, once it and the file's size have been checked.
Result<Header> ReadHeader(std::span<const std::byte> bytes) {
  Header header;
  if (bytes.size() < sizeof(header))
    return Corrupt("the package is cut off after {} bytes", bytes.size());
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header.header_hash != HashBytes(bytes.first(offsetof(Header, header_hash))))
    return Corrupt("the package's header is damaged");
  if (header.format != kFormat) {
    return Error(StatusCode::kVersionMismatch, "the package has format {}, this version reads {}",
                 header.format, kFormat);
  }
  if (header.file_bytes != bytes.size())
    return Corrupt("the package has {} bytes instead of {}", bytes.size(), header.file_bytes);
  if (header.index_bytes > kMaxIndexBytes || SectionsBegin(header.index_bytes) > bytes.size())
    return Corrupt("the package's index does not fit the file");
  return header;
}

/// The index, once its hash and its structure have been checked.
Result<const index::Package*> ReadIndex(std::span<const std::byte> bytes, const Header& header) {
  const std::span<const std::byte> index = bytes.subspan(sizeof(Header), header.index_bytes);
  if (HashBytes(index) != header.index_hash) return Corrupt("the package's index is damaged");
  const auto* data = reinterpret_cast<const uint8_t*>(index.data());
  // A table takes 8 bytes at least; the bound stops an index whose tables share others.
  constexpr flatbuffers::uoffset_t kMaxTableDepth = 16;
  flatbuffers::Verifier verifier(data, index.size(), kMaxTableDepth,
                                 static_cast<flatbuffers::uoffset_t>(index.size() / 8 + 1));
  if (!index::VerifyPackageBuffer(verifier)) return Corrupt("the package's index is malformed");
  return index::GetPackage(data);
}

/// Where the sections lie in the file: in order, aligned, apart, and filling it.
Result<std::vector<SectionRange>> ReadSections(const index::Package& index, uint64_t begin,
                                               uint64_t file_bytes) {
  // What the verifier does not look at.
  const auto at = reinterpret_cast<uintptr_t>(index.sections()->Data());
  if (index.sections()->size() > 0 && at % alignof(index::Section) != 0)
    return Corrupt("the package's index is malformed");
  std::vector<SectionRange> ranges;
  uint64_t next = 0;
  const uint64_t room = file_bytes - begin;
  for (const index::Section* section : *index.sections()) {
    if (section->offset() != next || section->bytes() > room ||
        SectionSpan(section->bytes()) > room - next)
      return Corrupt("section {} of the package is out of place", ranges.size());
    ranges.push_back({begin + next, section->bytes(), section->hash()});
    next += SectionSpan(section->bytes());
  }
  if (next != room) return Corrupt("the package's sections do not fill the file");
  return ranges;
}

PackageInfo ReadInfo(const index::Info& info) {
  return {.library = info.library()->str(),
          .build = info.build()->str(),
          .device = info.device()->str(),
          .device_name = info.device_name()->str(),
          .threads = info.threads(),
          .default_ms = info.default_ms(),
          .measured_ms = info.measured_ms(),
          .predicted_ms = info.predicted_ms(),
          .measurements = info.measurements(),
          .seed = info.seed(),
          .unix_seconds = info.unix_seconds()};
}

/// Messages quote names of the file, which may hold anything.
Status OneLine(const Status& status) {
  std::string message = status.message();
  std::replace_if(
      message.begin(), message.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; },
      '?');
  return Status(status.code(), std::move(message));
}

}  // namespace
}  // namespace package

bool Package::IsPackage(std::span<const std::byte> bytes) {
  return bytes.size() >= package::kMagic.size() &&
         std::memcmp(bytes.data(), package::kMagic.data(), package::kMagic.size()) == 0;
}

Result<std::shared_ptr<const Package>> Package::Open(std::span<const std::byte> bytes,
                                                     std::shared_ptr<const void> owner,
                                                     const std::string& name) {
  std::shared_ptr<Package> opened(new Package());
  const Status status = opened->Read(bytes, std::move(owner));
  if (!status.ok()) return package::OneLine(status).WithContext(name);
  return std::shared_ptr<const Package>(std::move(opened));
}

Status Package::Read(std::span<const std::byte> bytes, std::shared_ptr<const void> owner) {
  using package::Corrupt;
  ASSIGN_OR_RETURN(const package::Header header, package::ReadHeader(bytes));
  ASSIGN_OR_RETURN(const index::Package* table, package::ReadIndex(bytes, header));
  ASSIGN_OR_RETURN(
      const std::vector<package::SectionRange> ranges,
      package::ReadSections(*table, package::SectionsBegin(header.index_bytes), bytes.size()));
  info_ = package::ReadInfo(*table->info());
  sections_ = std::make_shared<const package::Sections>(bytes, std::move(owner), ranges);
  RETURN_IF_ERROR(sections_->Check());
  ASSIGN_OR_RETURN(graph_, package::ReadGraph(*table, header.index_bytes, sections_));
  for (const index::Decision* decision : *table->decisions()) {
    decisions_.push_back({{.structure = decision->structure(),
                           .graph = decision->graph(),
                           .device = decision->device()->str(),
                           .threads = decision->threads()},
                          decision->text()->str()});
  }
  for (const index::Packed* packed : *table->packed()) {
    if (packed->section() >= ranges.size()) return Corrupt("a packed weight has no section");
    packed_.push_back(
        {{packed->recipe()->str(), {packed->contents()->begin(), packed->contents()->end()}},
         packed->section()});
  }
  if (table->programs() == nullptr) return OkStatus();
  for (const index::Program* program : *table->programs()) {
    if (program->section() >= ranges.size()) return Corrupt("a program has no section");
    programs_.push_back({program->key()->str(), program->section()});
  }
  return OkStatus();
}

std::vector<ProgramBinary> Package::programs() const {
  std::vector<ProgramBinary> binaries;
  for (const Program& program : programs_) {
    const std::span<const std::byte> bytes = sections_->bytes(program.section);
    binaries.push_back({program.key, {bytes.begin(), bytes.end()}});
  }
  return binaries;
}

int64_t Package::packed_bytes() const {
  uint64_t bytes = 0;
  for (const Packed& packed : packed_) bytes += sections_->bytes(packed.section).size();
  return static_cast<int64_t>(bytes);
}

void Package::ProvidePacked(exec::PackedStore& store) const {
  for (const Packed& packed : packed_) {
    store.Provide(
        packed.key,
        [sections = sections_,
         section = packed.section]() -> Result<std::shared_ptr<const exec::PackedBlob>> {
          const std::span<const std::byte> bytes = sections->bytes(section);
          // Nobody writes to a blob; operands have no const form.
          auto* data = const_cast<std::byte*>(bytes.data());
          return std::make_shared<const exec::PackedBlob>(exec::PackedBlob{
              std::shared_ptr<std::byte>(sections, data), static_cast<int64_t>(bytes.size())});
        });
  }
}

}  // namespace fettle::runtime

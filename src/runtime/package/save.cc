// Writing packages.
#include <flatbuffers/flatbuffers.h>

#include <array>
#include <chrono>
#include <cstring>
#include <map>

#include "base/file.h"
#include "base/hash.h"
#include "base/version.h"
#include "kernels/build_id.h"
#include "runtime/model.h"
#include "runtime/package/format.h"
#include "runtime/package/graph_writer.h"
#include "runtime/package/package.h"

namespace fettle::runtime {
namespace package {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

Offset<index::Info> WriteInfo(FlatBufferBuilder& builder, const PackageInfo& info) {
  const auto library = builder.CreateString(info.library);
  const auto build = builder.CreateString(info.build);
  const auto device = builder.CreateString(info.device);
  const auto device_name = builder.CreateString(info.device_name);
  return index::CreateInfo(builder, library, build, device, device_name, info.threads,
                           info.default_ms, info.measured_ms, info.predicted_ms, info.measurements,
                           info.seed, info.unix_seconds);
}

std::vector<Offset<index::Decision>> WriteDecisions(
    FlatBufferBuilder& builder, const std::vector<planner::BookEntry>& entries) {
  std::vector<Offset<index::Decision>> decisions;
  for (const planner::BookEntry& entry : entries) {
    const auto device = builder.CreateString(entry.key.device);
    const auto text = builder.CreateString(entry.text);
    decisions.push_back(index::CreateDecision(builder, entry.key.structure, entry.key.graph, device,
                                              entry.key.threads, text));
  }
  return decisions;
}

Result<std::vector<Offset<index::Packed>>> WritePacked(FlatBufferBuilder& builder,
                                                       SectionList& sections,
                                                       const GraphWriter& graphs,
                                                       const exec::PackedStore& store) {
  std::map<exec::PackedKey, std::shared_ptr<const exec::PackedBlob>> blobs;
  for (exec::PackedStore::Entry& entry : store.Living()) {
    for (uint64_t& hash : entry.key.contents) {
      const auto renamed = graphs.renamed().find(hash);
      if (renamed != graphs.renamed().end()) hash = renamed->second;
    }
    blobs.emplace(std::move(entry.key), std::move(entry.blob));
  }
  std::vector<Offset<index::Packed>> list;
  for (const auto& [key, blob] : blobs) {
    const std::span<const std::byte> bytes(blob->data.get(), static_cast<size_t>(blob->bytes));
    ASSIGN_OR_RETURN(const uint32_t section, sections.Add(bytes, blob));
    const auto recipe = builder.CreateString(key.recipe);
    const auto contents = builder.CreateVector(key.contents);
    list.push_back(index::CreatePacked(builder, recipe, contents, section));
  }
  return list;
}

std::vector<index::Section> SectionTable(const SectionList& sections) {
  std::vector<index::Section> table;
  for (const SectionRange& range : sections.ranges())
    table.emplace_back(range.offset, range.bytes, range.hash);
  return table;
}

Header MakeHeader(std::span<const std::byte> index, const SectionList& sections) {
  Header header = {};
  std::memcpy(header.magic, kMagic.data(), kMagic.size());
  header.format = kFormat;
  header.file_bytes = SectionsBegin(index.size()) + sections.file_bytes();
  header.index_bytes = index.size();
  header.index_hash = HashBytes(index);
  const auto bytes = std::as_bytes(std::span(&header, 1));
  header.header_hash = HashBytes(bytes.first(offsetof(Header, header_hash)));
  return header;
}

Status WriteAll(FileWriter& file, std::span<const std::byte> index, const SectionList& sections) {
  static constexpr std::array<std::byte, kAlignment> kZeros = {};
  const Header header = MakeHeader(index, sections);
  RETURN_IF_ERROR(file.Write(std::as_bytes(std::span(&header, 1))));
  RETURN_IF_ERROR(file.Write(index));
  const uint64_t zeros = SectionsBegin(index.size()) - sizeof(header) - index.size();
  RETURN_IF_ERROR(file.Write(std::span(kZeros).first(zeros)));
  RETURN_IF_ERROR(sections.Write(file));
  return file.Commit();
}

/// `programs` outlive the writing.
Result<std::vector<Offset<index::Program>>> WritePrograms(FlatBufferBuilder& builder,
                                                          SectionList& sections,
                                                          std::span<const ProgramBinary> programs) {
  std::vector<Offset<index::Program>> list;
  for (const ProgramBinary& program : programs) {
    ASSIGN_OR_RETURN(const uint32_t section, sections.Add(program.bytes, nullptr));
    list.push_back(index::CreateProgram(builder, builder.CreateString(program.key), section));
  }
  return list;
}

Status Save(const std::string& path, const Model& model, const planner::PlanBook& book,
            const PackageInfo& info, const PackageExtras& extras) {
  FlatBufferBuilder builder;
  SectionList sections;
  GraphWriter graphs(builder, sections);
  RETURN_IF_ERROR(graphs.Write(model.graph()));
  const std::vector<Offset<index::Decision>> decisions = WriteDecisions(builder, book.entries());
  std::vector<Offset<index::Packed>> packed;
  if (extras.packed_weights) {
    ASSIGN_OR_RETURN(packed, WritePacked(builder, sections, graphs, model.packed()));
  }
  ASSIGN_OR_RETURN(const std::vector<Offset<index::Program>> programs,
                   WritePrograms(builder, sections, extras.programs));
  const std::vector<index::Section> table = SectionTable(sections);
  const auto info_offset = WriteInfo(builder, info);
  const auto section_offset = builder.CreateVectorOfStructs(table);
  const auto constant_offset = builder.CreateVector(graphs.constants());
  const auto graph_offset = builder.CreateVector(graphs.graphs());
  const auto packed_offset = builder.CreateVector(packed);
  const auto decision_offset = builder.CreateVector(decisions);
  const auto program_offset = builder.CreateVector(programs);
  builder.Finish(index::CreatePackage(builder, info_offset, section_offset, constant_offset,
                                      graph_offset, packed_offset, decision_offset,
                                      program_offset));
  const auto index_bytes = std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize()));
  if (index_bytes.size() > kMaxIndexBytes)
    return Unsupported("{}: the graph is too large for a package", path);
  ASSIGN_OR_RETURN(const std::unique_ptr<FileWriter> file, FileWriter::Create(path));
  return WriteAll(*file, index_bytes, sections);
}

}  // namespace
}  // namespace package

namespace {

/// The device that a package is named after.
std::string NameOf(const DeviceSet& devices) {
  if (devices.beside_cpu().empty()) return std::string(devices.cpu().name());
  std::string names;
  for (const Device* device : devices.beside_cpu()) {
    if (!names.empty()) names += " + ";
    names += device->name();
  }
  return names;
}

}  // namespace

PackageInfo PackageInfo::For(const DeviceSet& devices, int threads) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return {.library = std::string(LibraryVersion()),
          .build = std::string(kernels::BuildId()),
          .device = devices.fingerprint(),
          .device_name = NameOf(devices),
          .threads = threads,
          .unix_seconds = std::chrono::duration_cast<std::chrono::seconds>(now).count()};
}

Status SavePackage(const std::string& path, const Model& model, const planner::PlanBook& book,
                   const PackageInfo& info, const PackageExtras& extras) {
  return package::Save(path, model, book, info, extras);
}

std::string PackageFileName(std::string_view model_path, const DeviceSet& devices) {
  std::string_view model = model_path.substr(model_path.find_last_of('/') + 1);
  const size_t dot = model.find_last_of('.');
  if (dot != std::string_view::npos && dot > 0) model = model.substr(0, dot);
  std::string name;
  for (char c : NameOf(devices)) {
    const bool is_upper = c >= 'A' && c <= 'Z';
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (is_upper || is_plain) {
      name += is_upper ? static_cast<char>(c - 'A' + 'a') : c;
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  while (name.ends_with('-')) name.pop_back();
  return fmt::format("{}.{}.fettle", model, name);
}

}  // namespace fettle::runtime

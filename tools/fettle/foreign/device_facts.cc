#include "foreign/device_facts.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "foreign/facts_reader.h"
#include "io/gzip.h"
#include "report/cpu_facts.h"

namespace fettle::tools {
namespace {

constexpr int64_t kMostCores = 1024, kMostBytes = int64_t{1} << 50;
/// No device of one kind does more in a second, and nothing takes longer, in microseconds.
constexpr double kMostRate = 1e18, kLeastRate = 1e3, kMostUs = 1e7;
constexpr std::string_view kUnits[] = {"FLOP/s", "OP/s", "B/s", "/cycle", "cycles", "GHz", "us"};
/// Without these there are no bounds (tuner/cost/ceilings.h).
constexpr std::string_view kOfCpu[] = {"fp32 fma", "DRAM copy"};
constexpr std::string_view kBesideCpu[] = {"fp32 fma", "cached read", "launch us"};

Status CheckSets(const CpuInfo& info, const AmxSets& tiles, const std::string& where) {
  const auto needs = [&](bool has, std::string_view name, bool needed, std::string_view other) {
    if (!has || needed) return OkStatus();
    return Status(InvalidArgument("{}: no processor has '{}' without '{}'", where, name, other));
  };
  RETURN_IF_ERROR(needs(info.avx512, "avx512", info.avx2 && info.fma, "avx2 and fma"));
  RETURN_IF_ERROR(needs(info.avx512_vnni, "avx512_vnni", info.avx512, "avx512"));
  RETURN_IF_ERROR(needs(info.avx512_bf16, "avx512_bf16", info.avx512, "avx512"));
  RETURN_IF_ERROR(needs(info.avx512_vbmi, "avx512_vbmi", info.avx512, "avx512"));
  RETURN_IF_ERROR(needs(info.avx512_vpopcntdq, "avx512_vpopcntdq", info.avx512, "avx512"));
  RETURN_IF_ERROR(needs(info.avx_vnni, "avx_vnni", info.avx2, "avx2"));
  RETURN_IF_ERROR(needs(tiles.int8, "amx_int8", info.avx512_vnni, "avx512_vnni"));
  RETURN_IF_ERROR(needs(tiles.bf16, "amx_bf16", info.avx512_bf16, "avx512_bf16"));
  if (info.neon && info.avx2)
    return InvalidArgument("{}: no processor has both 'neon' and 'avx2'", where);
  return OkStatus();
}

Status ReadCpu(const Json& object, const std::string& where, DeviceFacts& facts) {
  FactsReader reader(object, where);
  facts.cpu.model = reader.Text("name");
  facts.cpu.cores = static_cast<int>(reader.Whole("cores", 1, kMostCores));
  facts.cpu.l1d_bytes = reader.Whole("l1d_bytes", 0, kMostBytes);
  facts.cpu.l2_bytes = reader.Whole("l2_bytes", 0, kMostBytes);
  facts.cpu.l3_bytes = reader.Whole("l3_bytes", 0, kMostBytes);
  for (const std::string& name : reader.Texts("isa"))
    if (!AddIsa(name, facts.cpu, facts.tiles))
      reader.Fail(InvalidArgument("{}: unknown instruction set '{}'", reader.PathOf("isa"), name));
  reader.Skip("ceilings");
  reader.Skip("fingerprint");
  RETURN_IF_ERROR(reader.Finish());
  return CheckSets(facts.cpu, facts.tiles, reader.PathOf("isa"));
}

Status ReadAccelerator(const Json& object, const std::string& where, DeviceFacts& facts) {
  const Json* backend = Member(object, "backend");
  if (backend == nullptr || !backend->is_string())
    return InvalidArgument("{}.backend: expected a text", where);
  for (const kernels::Backend* known : kernels::Backends())
    if (known->on_paper != nullptr && known->name == backend->get_ref<const std::string&>())
      facts.backend = known;
  if (facts.backend == nullptr)
    return Unsupported("{}.backend: this build has no backend {}", where, backend->dump());
  for (const auto& [name, value] : object.items()) {
    if (name == "backend") continue;
    if (value.is_boolean()) {
      facts.accelerator[name] = value.get<bool>();
    } else if (value.is_number_integer()) {
      facts.accelerator[name] = value.get<int64_t>();
    } else if (value.is_string()) {
      facts.accelerator[name] = value.get<std::string>();
    } else {
      return InvalidArgument("{}.{}: expected a text, a whole number, true or false", where, name);
    }
  }
  return facts.backend->on_paper(facts.accelerator).status().WithContext(where);
}

/// What bounds are made of; a rate or a time that no device has is an error.
Result<double> ReadBound(const Json& row, const std::string& where, std::string_view unit) {
  const Json* best = Member(row, "best");
  if (best == nullptr || best->is_null()) best = Member(row, "value");
  if (best == nullptr || !best->is_number())
    return InvalidArgument("{}: expected a number as its value", where);
  const double value = best->get<double>();
  const bool is_rate = unit.ends_with("/s");
  const double most = is_rate ? kMostRate : kMostUs, least = is_rate ? kLeastRate : 0;
  if (std::isfinite(value) && value > least && value < most) return value;
  return InvalidArgument("{}: no device has {} {} (expected {:g} to {:g})", where, best->dump(),
                         unit, least, most);
}

Status ReadCeilings(const Json* rows, const std::string& where,
                    std::span<const std::string_view> needed,
                    std::vector<kernels::Ceiling>& ceilings) {
  if (rows == nullptr || !rows->is_array()) return InvalidArgument("{}: expected a list", where);
  for (const Json& row : *rows) {
    const Json *name = Member(row, "name"), *unit = Member(row, "unit");
    if (name == nullptr || !name->is_string() || unit == nullptr || !unit->is_string())
      return InvalidArgument("{}: expected rows with a name and a unit", where);
    const Json* status = Member(row, "status");
    if (status != nullptr && *status != "ok") continue;
    const std::string at = fmt::format("{}: '{}'", where, name->get<std::string>());
    const auto known = std::ranges::find(kUnits, unit->get<std::string>());
    if (known == std::end(kUnits)) return InvalidArgument("{}: unknown unit {}", at, unit->dump());
    ASSIGN_OR_RETURN(const double value, ReadBound(row, at, *known));
    kernels::Ceiling ceiling;
    ceiling.name = name->get<std::string>();
    ceiling.unit = *known;
    ceiling.value = ceiling.best = value;
    ceiling.repeats = 1;
    ceilings.push_back(std::move(ceiling));
  }
  for (const std::string_view name : needed)
    if (std::ranges::none_of(ceilings, [&](const auto& one) { return one.name == name; }))
      return InvalidArgument(
          "{}: '{}' is missing; print them by `fettle peak --json`, without --only", where, name);
  return OkStatus();
}

/// The document of one machine: with --remote it lies in another one.
Result<const Json*> DocumentOf(const Json& file, const std::string& path) {
  const Json* document = &file;
  if (const Json* remotes = Member(file, "remotes"); remotes != nullptr && remotes->is_array()) {
    if (remotes->size() != 1)
      return InvalidArgument("{}: holds {} machines; print each by itself", path, remotes->size());
    document = Member((*remotes)[0], "document");
  }
  if (document == nullptr || Member(*document, "facts") == nullptr ||
      Member(*document, "ceilings") == nullptr)
    return InvalidArgument("{}: not what `fettle peak --json` prints", path);
  return document;
}

}  // namespace

Result<DeviceFacts> ReadDeviceFacts(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadMaybeGzip(path));
  const Json file = Json::parse(text, nullptr, false);
  ASSIGN_OR_RETURN(const Json* document, DocumentOf(file, path));
  DeviceFacts facts{.file = path,
                    .cpu = {},
                    .tiles = {},
                    .cpu_ceilings = {},
                    .backend = nullptr,
                    .accelerator = {},
                    .accelerator_ceilings = {}};
  const std::string where = path + ": facts";
  FactsReader reader(*Member(*document, "facts"), where);
  const Json* cpu = reader.Object("cpu");
  const Json* accelerator = reader.ObjectOrNull("accelerator");
  RETURN_IF_ERROR(reader.Finish());
  RETURN_IF_ERROR(ReadCpu(*cpu, reader.PathOf("cpu"), facts));
  const Json* measured = Member(*document, "ceilings");
  RETURN_IF_ERROR(ReadCeilings(Member(*cpu, "ceilings"), reader.PathOf("cpu.ceilings"), kOfCpu,
                               facts.cpu_ceilings));
  if (accelerator == nullptr) {
    RETURN_IF_ERROR(ReadCeilings(measured, path + ": ceilings", {}, facts.cpu_ceilings));
    return facts;
  }
  RETURN_IF_ERROR(ReadAccelerator(*accelerator, reader.PathOf("accelerator"), facts));
  RETURN_IF_ERROR(
      ReadCeilings(measured, path + ": ceilings", kBesideCpu, facts.accelerator_ceilings));
  return facts;
}

}  // namespace fettle::tools

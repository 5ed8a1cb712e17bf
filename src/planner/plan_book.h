// Decisions by what they were made for.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "device/device.h"
#include "ir/graph.h"
#include "planner/choices.h"

namespace fettle::planner {

/// The key of a decision: graph, threads and devices.
struct DecisionKey {
  /// Hash of the graph's operators, edges and element types, without extents and contents.
  uint64_t structure = 0;
  /// Hash of the graph's text: extents, attributes and names too.
  uint64_t graph = 0;
  /// DeviceSet::fingerprint(), and Limits::policy where there is a device beside the CPU.
  std::string device;
  int threads = 0;

  bool operator==(const DecisionKey&) const = default;
};

DecisionKey KeyOf(const ir::Graph& graph, const DeviceSet& devices, const Limits& limits);

/// "STRUCTURE GRAPH THREADS DEVICE" with the hashes in hexadecimal, and back (kCorrupt).
std::string PrintKey(const DecisionKey& key);
Result<DecisionKey> ParseKey(std::string_view text);

/// The text of a decision (PrintDecision) and its key.
struct BookEntry {
  DecisionKey key;
  std::string text;
};

class PlanBook;
/// The key for which `book` has a plan for a session of `limits`. A plan for the accelerator alone
/// also serves where the CPU may help, if there is no other.
DecisionKey KeyIn(const PlanBook& book, const ir::Graph& graph, const DeviceSet& devices,
                  const Limits& limits);

/// The settings of a session that would get a plan of `book` for a graph of this structure on these
/// devices, as "precision normal, 2 threads", as far as they differ from `limits`. Empty where the
/// session gets one already, or where the book has none for the graph and devices.
std::string MissedSettings(const PlanBook& book, const ir::Graph& graph, const DeviceSet& devices,
                           const Limits& limits);

/// Thread-safe.
class PlanBook {
 public:
  /// Replaces the entry of an equal key.
  void Put(BookEntry entry);
  /// The text for exactly this key; empty: none.
  std::string Find(const DecisionKey& key) const;
  /// The latest text for a graph of equal structure, device and threads, but other extents; empty:
  /// none.
  std::string FindSimilar(const DecisionKey& key) const;
  std::vector<BookEntry> entries() const;

 private:
  mutable std::mutex mutex_;
  std::vector<BookEntry> entries_;
};

}  // namespace fettle::planner

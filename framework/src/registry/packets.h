// Packets on a socket between a registry and its probe.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headwright::registry {

inline constexpr std::string_view kReady = "ready";                    // the probe's first packet
inline constexpr std::size_t kLargestPacket = std::size_t{64} * 1024;  // fits into a socket's buffer

/// What a registry asks: to try a file, which is to have this hash.
struct Question {
  std::string file;
  std::optional<std::uint64_t> expected;
};
std::string question(const std::string& file, std::optional<std::uint64_t> expected);
Question question_in(const std::string& packet);

/// False where the other side is gone.
bool send_packet(int socket, std::string_view packet);

/// Waits for a packet; nothing where the other side is gone.
std::optional<std::string> receive_packet(int socket);

}  // namespace headwright::registry

"""Editing the settings files of other programs without leaving a trace outside our own entries (DESIGN §4).

strict_json   text -> tree with positions, or a refusal with line and column
splice        one part added, replaced or removed; every other character stays
hook_entries  our hooks in a settings file: find, bring up to date, take out
receipts      what an installation made besides its entries
foreign_file  read and replace through links, with mode, owner and compare-and-swap
launcher      the command that our hooks run, and how it is recognised
wiring        what should stand in a settings file for one harness, and what is wrong with what does

The same for the list of MCP servers:

toml_statements   where each statement of a TOML text stands
json_server       our server in a JSON file, toml_server in a TOML file: find, bring up to date, take out
server_command    the command that starts our server, and how it is recognised
mcp_registration  what should stand in a list of servers for one harness, and what is wrong with what does
"""

// The JSON schema of manifests, version 1: editors check against it, and `opbatch schema` prints
// it. These literals are its only source; the tests compare it with the decoders' key tables.
// The text goes on in `ManifestSchemaDefinitions.swift` and `ManifestSchemaFurther.swift`; a file
// alone would be too long. Descriptions in it are shown by editors, so they are texts for users.

/// The schema that describes manifests.
public enum ManifestSchema {
  /// A JSON Schema (draft 7) document.
  public static let text = root + definitions

  /// The manifest itself.
  /// Keys that are not supported yet are described as such, so that editors can say it.
  private static let root = #"""
    {
      "$schema": "http://json-schema.org/draft-07/schema#",
      "$id": "https://opcluster.example/schema/opgraph-v1.schema.json",
      "title": "opbatch graph manifest, version 1",
      "type": "object",
      "required": ["version", "operations"],
      "additionalProperties": false,
      "patternProperties": {
        "^x-": {"description": "Free for your own use (YAML anchors live well here)."}
      },
      "properties": {
        "$schema": {"type": "string"},
        "version": {"const": 1, "description": "Manifest format version."},
        "name": {
          "$ref": "#/definitions/name",
          "description": "Graph name. Default: the file name without extension."
        },
        "description": {"type": "string"},
        "labels": {"$ref": "#/definitions/labels"},
        "params": {
          "type": "object",
          "description": "Values a submitter may set with -p NAME=VALUE.",
          "propertyNames": {"pattern": "^[a-z][a-z0-9_]{0,63}$"},
          "additionalProperties": {
            "oneOf": [
              {"type": ["string", "number", "boolean"]},
              {
                "type": "object",
                "additionalProperties": false,
                "properties": {
                  "type": {"enum": ["string", "int", "number", "bool", "path"]},
                  "default": {"type": ["string", "number", "boolean"]},
                  "required": {"type": "boolean"},
                  "choices": {
                    "type": "array",
                    "minItems": 1,
                    "items": {"type": ["string", "number", "boolean"]}
                  },
                  "pattern": {"type": "string"},
                  "help": {"type": "string"}
                }
              }
            ]
          }
        },
        "defaults": {
          "$ref": "#/definitions/opSettings",
          "description": "Settings every operation starts from."
        },
        "env": {"$ref": "#/definitions/env"},
        "env_file": {"$ref": "#/definitions/envFile"},
        "queues": {
          "type": "object",
          "description": "Queues of this graph; an operation naming another means one of the \#
    cluster.",
          "propertyNames": {"$ref": "#/definitions/name"},
          "additionalProperties": {
            "type": ["object", "null"],
            "additionalProperties": false,
            "properties": {
              "max_concurrent": {
                "anyOf": [
                  {"type": "integer", "minimum": 0},
                  {"const": "unlimited"},
                  {"$ref": "#/definitions/parameter"}
                ],
                "description": "maxConcurrentOperationCount; 1 makes a serial queue."
              },
              "qos": {"$ref": "#/definitions/qos"},
              "priority": {"$ref": "#/definitions/priority", "description": "Not supported yet."},
              "suspended": {
                "anyOf": [{"type": "boolean"}, {"$ref": "#/definitions/parameter"}],
                "default": false
              },
              "require": {"$ref": "#/definitions/require"},
              "cluster_queue": {
                "type": "string",
                "description": "Cluster queue that backs this one. Only 'default' is supported yet."
              }
            }
          }
        },
        "on_failure": {
          "anyOf": [
            {"enum": ["continue", "stop", "cancel"]},
            {"$ref": "#/definitions/parameter"}
          ],
          "description": "continue: run what can still run. stop: start nothing new. cancel: \#
    also cancel what runs.",
          "default": "continue"
        },
        "max_failures": {
          "anyOf": [
            {"type": "integer", "minimum": 0},
            {"type": "string", "pattern": "^[0-9]{1,3}%$"},
            {"$ref": "#/definitions/parameter"}
          ]
        },
        "deadline": {"$ref": "#/definitions/duration", "description": "Not supported yet."},
        "operations": {"$ref": "#/definitions/operations"},
        "files": {
          "type": "array",
          "items": {"type": "string"},
          "description": "Files, folders and patterns of the submitter that every command finds \#
    in $OP_INPUTS by the same path."
        },
        "barriers": {
          "type": "array",
          "items": {
            "type": "object",
            "required": ["name", "after", "before"],
            "additionalProperties": false,
            "properties": {
              "name": {"$ref": "#/definitions/name"},
              "after": {"$ref": "#/definitions/nameList"},
              "before": {"$ref": "#/definitions/nameList"},
              "when": {"$ref": "#/definitions/when"}
            }
          }
        },
        "finally": {
          "$ref": "#/definitions/operations",
          "description": "Run once everything above has ended, whatever the outcome."
        },
        "notify": {
          "type": "array",
          "maxItems": 8,
          "description": "Who is told of the graph, from the machine that submits it.",
          "items": {
            "type": "object",
            "additionalProperties": false,
            "oneOf": [{"required": ["webhook"]}, {"required": ["run"]}],
            "properties": {
              "webhook": {
                "anyOf": [{"type": "string"}, {"$ref": "#/definitions/secret"}],
                "description": "Gets a POST with JSON; https:// or http://."
              },
              "token": {
                "$ref": "#/definitions/secret",
                "description": "Goes along to the webhook as Authorization: Bearer."
              },
              "run": {
                "anyOf": [
                  {"type": "string"}, {"type": "array", "minItems": 1, "items": {"type": "string"}}
                ],
                "description": "A text for sh, or a program with its arguments; JSON is its stdin."
              },
              "on": {
                "anyOf": [
                  {"enum": ["end", "failure"]},
                  {"type": "array", "minItems": 1, "items": {"enum": ["end", "failure"]}}
                ],
                "description": "The end of the graph, its first failure; both unless given."
              }
            }
          }
        }
      },

    """#
}

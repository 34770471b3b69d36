{{/* What the schema cannot see: values that contradict each other. Each message says what to set. */}}

{{- define "lookaside.checks" -}}
{{- include "lookaside.checkDefinition" . -}}
{{- if not .Values.existingConfigMap -}}
{{- include "lookaside.checkFiles" . -}}
{{- include "lookaside.checkVariables" . -}}
{{- include "lookaside.checkInstance" . -}}
{{- end -}}
{{- end -}}

{{- define "lookaside.checkDefinition" -}}
{{- if and .Values.definition .Values.existingConfigMap -}}
{{- fail "\n\nBoth `definition` and `existingConfigMap` are set: which one is the job?\nSet one of them.\n" -}}
{{- end -}}
{{- if not (or .Values.definition .Values.existingConfigMap) -}}
{{- fail "\n\nThe release has no job: set `definition` (name, tables, pipeline) in a values file, or `existingConfigMap`.\nThe chart's README begins with a whole example.\n" -}}
{{- end -}}
{{- end -}}

{{/* The definition as text without `$${`, which stands for itself. */}}
{{- define "lookaside.references" -}}
{{- toJson .Values.definition | replace "$${" "" -}}
{{- end -}}

{{/* Every file of the secrets folder that the definition names must come from a Secret. */}}
{{- define "lookaside.checkFiles" -}}
{{- $folder := include "lookaside.secretsFolder" . -}}
{{- $files := list -}}
{{- $known := true -}}
{{- range .Values.existingSecrets -}}
{{- if not .items -}}{{- $known = false -}}{{- end -}}
{{- range .items -}}
{{- $path := default .key .path -}}
{{- if has $path $files -}}
{{- fail (printf "\n\nexistingSecrets: two Secrets have a file %q; give one of them another `path`.\n" $path) -}}
{{- end -}}
{{- $files = append $files $path -}}
{{- end -}}
{{- end -}}
{{- if $known -}}
{{- range regexFindAll (printf `\$\{file:%s/[^}"]+\}` $folder) (include "lookaside.references" .) -1 -}}
{{- $file := trimSuffix "}" (trimPrefix (printf "${file:%s/" $folder) .) -}}
{{- if not (has $file $files) -}}
{{- fail (printf "\n\nThe definition reads %s/%s, and no Secret gives it. Add to `existingSecrets`:\n\n  - name: NAME-OF-THE-SECRET\n    items:\n    - {key: KEY-IN-THE-SECRET, path: %s}\n" $folder $file $file) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Every variable without a default must be set. What `extraEnvFrom` brings is not known here. */}}
{{- define "lookaside.checkVariables" -}}
{{- if not .Values.extraEnvFrom -}}
{{- $names := list -}}
{{- range .Values.extraEnv -}}{{- $names = append $names .name -}}{{- end -}}
{{- range regexFindAll `\$\{env:[^}:"]+\}` (include "lookaside.references" .) -1 -}}
{{- $name := trimSuffix "}" (trimPrefix "${env:" .) -}}
{{- if not (has $name $names) -}}
{{- fail (printf "\n\nThe definition reads the variable %s, and nothing sets it. Add it to `extraEnv`, or give it a default: ${env:%s:-…}\n" $name $name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Two members of one group with the same instance id shut each other out. */}}
{{- define "lookaside.checkInstance" -}}
{{- if gt (int .Values.replicaCount) 1 -}}
{{- range $table, $options := .Values.definition.tables -}}
{{- range $option, $value := $options -}}
{{- if and (eq (nospace $option) "properties.group.instance.id") (not (contains "${env:" (toString $value))) -}}
{{- fail (printf "\n\ndefinition.tables.%s: with %d pods, 'properties.group.instance.id' must differ per pod.\nTake it from a variable that does, such as the pod's name, or leave it out.\n" $table (int $.Values.replicaCount)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

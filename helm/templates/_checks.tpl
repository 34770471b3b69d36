{{/* What the schema cannot see: values that contradict each other. Each message says what to set. */}}

{{- define "lookaside.checks" -}}
{{- include "lookaside.checkDefinition" . -}}
{{- if not .Values.existingConfigMap -}}
{{- include "lookaside.checkSecrets" . -}}
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

{{/*
A ConfigMap is no place for secrets: whatever is secret must be references alone, without a default, which would be the
secret itself. What is written there is not repeated in the message.
*/}}
{{- define "lookaside.checkSecrets" -}}
{{- range $table, $options := .Values.definition.tables -}}
{{- range $option, $value := $options -}}
{{- $name := nospace $option | lower -}}
{{- $bare := regexReplaceAll `\$\{(file:[^}]+|env:[^}:]+)\}` (toString $value) "" | trim -}}
{{- $secret := and $bare (regexMatch `(password|passphrase|secret|key\.pem|keystore\.key)$` $name) -}}
{{- $jaas := and (hasSuffix "jaas.config" $name) (regexMatch `(?i)(password|secret)\s*=\s*["']?[^"'\s;]` $bare) -}}
{{- $url := and (eq $name "url") (regexMatch `(?i)://[^/?@]*:[^/?@]+@|[?&]password=[^&]` $bare) -}}
{{- if or $secret $jaas $url -}}
{{- fail (printf "\n\ndefinition.tables.%s: '%s' holds a secret, and the definition becomes a ConfigMap.\nPut it into a Secret, name that in `existingSecrets`, and write ${file:%s/NAME} in its place, or ${env:NAME} without a default.\n" $table $option (include "lookaside.secretsFolder" $)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
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

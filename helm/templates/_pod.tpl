{{/* What the job's pods and the pod of `helm test` have in common: the same image, files, variables and restrictions. */}}

{{/* Where files are mounted; the documentation and the checks name these folders. */}}
{{- define "lookaside.definitionFolder" -}}/etc/lookaside/definition{{- end -}}
{{- define "lookaside.settingsFolder" -}}/etc/lookaside/settings{{- end -}}
{{- define "lookaside.secretsFolder" -}}/etc/lookaside/secrets{{- end -}}

{{- define "lookaside.podSpec" -}}
serviceAccountName: {{ include "lookaside.serviceAccountName" . }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
{{- range . }}
- name: {{ . }}
{{- end }}
{{- end }}
securityContext:
  {{- toYaml .Values.podSecurityContext | nindent 2 }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
{{- toYaml . | nindent 0 }}
{{- end }}
volumes:
- name: definition
  configMap:
    name: {{ default (include "lookaside.fullname" .) .Values.existingConfigMap }}
    {{- if not .Values.existingConfigMap }}
    items:
    - key: definition.yaml
      path: definition.yaml
    {{- end }}
- name: settings
  configMap:
    name: {{ include "lookaside.fullname" . }}
    items:
    - key: settings.yaml
      path: settings.yaml
{{- with .Values.existingSecrets }}
- name: secrets
  projected:
    # The group alone may read them: see podSecurityContext.fsGroup.
    defaultMode: 0440
    sources:
    {{- range . }}
    - secret:
        name: {{ .name }}
        {{- with .items }}
        items:
        {{- range . }}
        - key: {{ .key | quote }}
          path: {{ default .key .path | quote }}
        {{- end }}
        {{- end }}
    {{- end }}
{{- end }}
{{- with .Values.extraVolumes }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end -}}

{{- define "lookaside.containerSpec" -}}
image: {{ include "lookaside.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  {{- toYaml .Values.securityContext | nindent 2 }}
{{- with .Values.extraEnv }}
env:
{{- toYaml . | nindent 0 }}
{{- end }}
{{- with .Values.extraEnvFrom }}
envFrom:
{{- toYaml . | nindent 0 }}
{{- end }}
volumeMounts:
- name: definition
  mountPath: {{ include "lookaside.definitionFolder" . }}
  readOnly: true
- name: settings
  mountPath: {{ include "lookaside.settingsFolder" . }}
  readOnly: true
{{- if .Values.existingSecrets }}
- name: secrets
  mountPath: {{ include "lookaside.secretsFolder" . }}
  readOnly: true
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end -}}

{{/* Port of `settings.http.address`. */}}
{{- define "lookaside.port" -}}
{{- regexFind "[0-9]+$" .Values.settings.http.address -}}
{{- end -}}

{{/*
Never two pods for the work of one: a member that starts while the old one still drains would take its partitions, and
one with the same `group.instance.id` would shut it out. Several pods are replaced one by one, without a surplus pod that would
be given partitions, rebuild their state and lose them again.
*/}}
{{- define "lookaside.strategy" -}}
{{- if .Values.strategy -}}
{{- toYaml .Values.strategy -}}
{{- else if gt (int .Values.replicaCount) 1 -}}
type: RollingUpdate
rollingUpdate:
  maxSurge: 0
  maxUnavailable: 1
{{- else -}}
type: Recreate
{{- end -}}
{{- end -}}
